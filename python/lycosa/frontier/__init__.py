"""The frontier: the core's ``lycosa._core.Frontier``. Strategies in Python will be added here."""
