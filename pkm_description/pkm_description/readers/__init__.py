"""Readers of descriptions: URDF with constraints, and other forms of closed chains."""
