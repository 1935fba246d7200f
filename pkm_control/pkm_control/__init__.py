"""Computed-force feedforward, joint servo and trajectory controller for parallel robots."""
