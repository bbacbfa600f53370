"""Request → response: the core's ``lycosa._core.Fetcher``, and a scripted double for tests."""

from lycosa.fetch.scripted import ScriptedFetch

__all__ = ["ScriptedFetch"]
