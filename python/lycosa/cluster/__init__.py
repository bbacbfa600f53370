"""The same job on many machines: partitions of the frontier, whose log is in Kafka.

A job has a fixed number of partitions, each with a frontier of its own. A member of the job's consumer group (a
worker) owns some of them, and writes what happens to them into their journals, a transaction at a time: records,
links for other partitions, and how far it has read the links of others. Who owns a partition is decided by Kafka;
until when its owner may start requests is decided in ``ownership.py``.
"""
