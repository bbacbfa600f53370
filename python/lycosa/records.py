"""The records that travel from stage to stage, in batches that live in Rust.

frontier → ``Requests`` → fetch → ``Responses`` → parse → ``Outcomes`` → log, frontier, sinks, user. A stage consumes
a batch: it is empty afterwards. Items become Python objects when they are accessed; a batch is a table for Arrow
libraries. ``encode`` returns a batch as bytes, the same in the log and between processes; batches can be pickled.
``Entries`` are records read from the log: accepted requests, leases and outcomes in its order.
"""

from lycosa._core import Entries, Outcome, Outcomes, Request, Requests, Response, Responses, Table

__all__ = ["Entries", "Outcome", "Outcomes", "Request", "Requests", "Response", "Responses", "Table"]
