"""Lycosa's benchmarks: one module per benchmark, run by `python -m benchmarks`."""
