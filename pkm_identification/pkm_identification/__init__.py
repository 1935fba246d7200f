"""Excitation, recording, datasets, estimation and validation for parallel robots."""

from pkm_identification.datasets import Dataset, load
from pkm_identification.estimators import estimators, identify
from pkm_identification.result import IdentificationResult
from pkm_identification.result_file import load_result
from pkm_identification.validation import Validation, validate

__all__ = [
    'Dataset',
    'IdentificationResult',
    'Validation',
    'estimators',
    'identify',
    'load',
    'load_result',
    'validate',
]
