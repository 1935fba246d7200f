"""A public dataset of simulated recordings, and the scores of whoever estimates from it."""
