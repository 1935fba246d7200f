"""Compiled loops over samples. Called only by `ClosedChainModel`."""
