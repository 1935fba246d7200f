"""Excitation, recording, datasets, estimation and validation for parallel robots."""

from pkm_identification.datasets import Dataset, load
from pkm_identification.estimators import (
    Delay,
    DriveGains,
    RecursiveEstimator,
    estimate_delay,
    estimators,
    identify,
)
from pkm_identification.excitation import (
    ExcitationDesign,
    design_excitation,
    load_excitation,
    shipped_excitations,
)
from pkm_identification.force_constants import ForceConstants
from pkm_identification.identifiability import Identifiability, identifiability
from pkm_identification.payload_estimate import PayloadEstimate
from pkm_identification.reduction import Reduction, reduce_model
from pkm_identification.result import IdentificationResult
from pkm_identification.result_file import load_result
from pkm_identification.validation import Validation, validate

__all__ = [
    'Dataset',
    'Delay',
    'DriveGains',
    'ExcitationDesign',
    'ForceConstants',
    'Identifiability',
    'IdentificationResult',
    'PayloadEstimate',
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
