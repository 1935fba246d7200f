"""The search for an excitation trajectory: unknowns, criterion, constraints, starts."""
