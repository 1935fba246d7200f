"""Excitation, recording, datasets, parameter estimation and validation for parallel robots, with their servers."""
