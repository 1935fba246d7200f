"""Recorded data: reading and writing of bags, CSV and NPZ files."""
