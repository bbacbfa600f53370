"""Which URL next: the core's ``lycosa._core.Frontier``. Strategies in Python will live here."""
