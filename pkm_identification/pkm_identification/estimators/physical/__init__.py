"""Estimates within physical consistency, with nonlinear friction too."""
