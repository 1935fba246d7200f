"""Estimators and the one call that runs them."""

from pkm_identification.estimators.delay import Delay, estimate_delay
from pkm_identification.estimators.drive_gains import DriveGains
from pkm_identification.estimators.identify import identify
from pkm_identification.estimators.problem import Problem, build_problem
from pkm_identification.estimators.recursive_estimator import RecursiveEstimator
from pkm_identification.estimators.registry import estimator_options, estimators
from pkm_identification.estimators.run import Rows, Run
from pkm_identification.estimators.selection import Selection
from pkm_identification.estimators.solve import Estimate

__all__ = [
    'Delay',
    'DriveGains',
    'Estimate',
    'Problem',
    'RecursiveEstimator',
    'Rows',
    'Run',
    'Selection',
    'build_problem',
    'estimate_delay',
    'estimator_options',
    'estimators',
    'identify',
]
