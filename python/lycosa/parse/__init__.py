"""Response → page: the core's ``lycosa._core.Parser``. Extraction and rules will be added here."""
