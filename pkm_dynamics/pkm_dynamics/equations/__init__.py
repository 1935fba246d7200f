"""Equations of motion: energy, wrenches, forward dynamics, integration in time."""
