"""The records that travel from stage to stage, in batches that live in Rust.

frontier → ``Requests`` → fetch → ``Responses`` → parse → ``Pages`` → log and frontier. A stage takes what it is
given: the batch is empty afterwards. A ``Page`` is one URL's outcome, made into a Python object only when asked for.
"""

from lycosa._core import Page, Pages, Requests, Responses, Rows

__all__ = ["Page", "Pages", "Requests", "Responses", "Rows"]
