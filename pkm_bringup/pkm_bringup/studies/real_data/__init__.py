"""Logs of real robots, and the plain method that the study compares with on them."""
