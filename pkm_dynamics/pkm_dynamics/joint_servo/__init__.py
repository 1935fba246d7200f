"""A robot under joint servos: their gains, errors along a motion, the motion it settles to."""
