"""Estimators by name; each solves the problem of `regression`."""

from pkm_identification.estimators.registry import estimator_options, estimators

__all__ = ['estimator_options', 'estimators']
