"""Computed-force feedforward, joint servo and trajectory evaluation for parallel robots, with the controller node."""
