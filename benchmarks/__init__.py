"""Benchmarks of squareone, as ratios measured in one run."""
