"""Robots with more drives than degrees of freedom."""
