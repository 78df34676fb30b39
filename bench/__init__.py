"""Benchmarks: each prints one table and compares within one run."""
