"""Limits of a robot and the margins that a motion keeps to them."""
