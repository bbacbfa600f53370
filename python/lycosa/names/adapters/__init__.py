"""Lycosa's resolver for other libraries, one file each; none of them is needed before its file is imported.

Each takes `lycosa.names.lookups.Lookups`, or the options of `lycosa.names.Resolver`. What they have in common: names
are asked of DNS servers only (no ``/etc/hosts``, no search domains), ``localhost`` and addresses are answered without
asking, and an error is ``socket.gaierror``, as libraries expect.
"""
