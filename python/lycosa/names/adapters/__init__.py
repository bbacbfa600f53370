"""Adapters of Lycosa's resolver, one file per library; a library is needed only when its file is imported.

Each takes `lycosa.names.lookups.Lookups`, or its options. All of them ask DNS servers only, unless the lookups have a
hosts file, local data or search domains (`lycosa.names.lookups.system_lookups` has those of the system); they answer
``localhost`` and addresses without asking; and they raise ``socket.gaierror``, as libraries expect.
"""
