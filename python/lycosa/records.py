"""The records that travel from stage to stage, in batches that live in Rust.

frontier → ``Requests`` → fetch → ``Responses`` → parse → ``Outcomes`` → log, frontier, sinks, user. A stage takes
what it is given: the batch is empty afterwards. One item becomes an object when it is asked for; all of them are
columns for Arrow libraries. Batches travel: ``encode`` gives their bytes, which are the same in the log and between
processes, and pickle knows them. ``Entries`` are what the log reads again: accepted requests, leases and outcomes in
its order.
"""

from lycosa._core import Entries, Outcome, Outcomes, Request, Requests, Response, Responses, Table

__all__ = ["Entries", "Outcome", "Outcomes", "Request", "Requests", "Response", "Responses", "Table"]
