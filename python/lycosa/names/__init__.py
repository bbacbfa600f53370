"""DNS: the client of the core, ``lycosa._core.Names``. Caches, bulk resolution and servers will live here."""
