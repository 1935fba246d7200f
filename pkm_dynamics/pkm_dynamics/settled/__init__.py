"""A robot under the sampled position loops of its drives, and the motion that it settles to."""
