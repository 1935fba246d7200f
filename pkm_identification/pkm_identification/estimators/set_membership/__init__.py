"""Sets of parameters that bounded errors allow."""
