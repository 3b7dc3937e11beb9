"""Benchmarks side by side with the peers. See docs/benchmarks.md for how to read them."""
