"""Spins that neither platform nor drives notice, such as those of rods between ball joints."""
