"""Sinks, the threads that feed them from the log, and the job directory."""
