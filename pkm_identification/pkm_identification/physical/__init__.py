"""Physical consistency: parameters that real bodies can have."""
