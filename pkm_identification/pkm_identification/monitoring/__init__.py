"""Watching a robot by its identified model: forces that it does not explain."""
