"""Which parameters and which estimator a recording supports."""
