"""Physically consistent bodies, alone and with nonlinear friction of the drives."""
