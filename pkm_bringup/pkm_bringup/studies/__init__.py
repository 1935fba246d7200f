"""Studies that repeat what papers compared, on the simulated robots."""
