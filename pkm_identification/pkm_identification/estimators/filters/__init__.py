"""Recursive estimation: least squares sample by sample and Kalman filters."""
