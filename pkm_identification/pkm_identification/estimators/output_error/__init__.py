"""Output error: the simulated robot under the same servo gives the forces."""
