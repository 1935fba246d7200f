"""Excitation, recording, datasets, estimation and validation for parallel robots."""

from pkm_identification.datasets import Recording, load
from pkm_identification.estimators.delay import estimate_delay
from pkm_identification.estimators.filters.recursive_estimator import RecursiveEstimator
from pkm_identification.estimators.registry import estimators
from pkm_identification.excitation import (
    ExcitationDesign,
    design_excitation,
    load_excitation,
    shipped_excitations,
)
from pkm_identification.force_constants.drive_gains import DriveGains
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.identify import identify
from pkm_identification.model_selection.identifiability import Identifiability, identifiability
from pkm_identification.model_selection.reduction import Reduction, reduce_model
from pkm_identification.result.reading import load_result
from pkm_identification.result.result import IdentificationResult
from pkm_identification.validation.validate import Validation, validate

__all__ = [
    'Delay',
    'DriveGains',
    'ExcitationDesign',
    'ForceConstants',
    'Identifiability',
    'IdentificationResult',
    'PayloadEstimate',
    'Recording',
    'RecursiveEstimator',
    'Reduction',
    'Validation',
    'design_excitation',
    'estimate_delay',
    'estimators',
    'identifiability',
    'identify',
    'load',
    'load_excitation',
    'load_result',
    'reduce_model',
    'shipped_excitations',
    'validate',
]
