"""Iterative learning: forces that repetitions of a motion have shown the model to lack."""
