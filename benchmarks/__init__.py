"""Lycosa's benchmarks: one module per family of claims, run by `python -m benchmarks`."""
