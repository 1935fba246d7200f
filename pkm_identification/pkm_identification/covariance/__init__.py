"""Covariance of an estimate: noise, residuals, constraints, what the data leave open."""
