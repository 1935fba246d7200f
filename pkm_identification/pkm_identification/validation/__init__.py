"""Prediction of forces and motions that a model was not identified from."""
