"""Lycosa's resolver for other libraries, one file each; none of them is needed before its file is imported.

Each takes `lycosa.names.lookups.Lookups`, or its options. What they have in common: names are asked of DNS servers
only, unless the lookups have a hosts file, local data or search domains (`lycosa.names.lookups.system_lookups` has
those of the system); ``localhost`` and addresses are answered without asking; and an error is ``socket.gaierror``, as
libraries expect.
"""
