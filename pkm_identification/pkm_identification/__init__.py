"""Excitation, recording, datasets, estimation and validation for parallel robots.

`load(path)` reads a recording, `identify(data, model)` estimates from it and gives an
`IdentificationResult`, which `result.save(path)` writes and `load_result(path)` reads.
`estimators()` lists the estimators, `RecursiveEstimator` runs with a robot, `estimate_delay` gives
the `Delay` of the efforts. `DriveGains` asks for force constants, `ForceConstants` and
`PayloadEstimate` are what a result holds of them.

`validate` predicts another recording (`Validation`), `identifiability` judges the parameters
(`Identifiability`), `reduce_model` drops those that the data do not determine (`Reduction`).
`design_excitation`, `load_excitation` and `shipped_excitations` give an `ExcitationDesign`.

A name is imported when it is asked for: who reads a model file does not wait for Numba;
`__init__.pyi` has the types.
"""

from __future__ import annotations

from pkm_description.lazy_names import lazy_names
from pkm_identification.estimators.estimator_options import (
    estimators as estimators,  # at once: the folder `estimators` would take the name
)

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        'Delay': 'result.diagnostics',
        'DriveGains': 'force_constants.drive_gains',
        'ExcitationDesign': 'excitation',
        'FoundRipple': 'model_selection.ripple',
        'ForceConstants': 'force_constants.force_constants',
        'Identifiability': 'model_selection.identifiability',
        'IdentificationResult': 'result.result',
        'PayloadEstimate': 'force_constants.payload_estimate',
        'Recording': 'datasets',
        'RecursiveEstimator': 'estimators.filters.recursive_estimator',
        'Reduction': 'model_selection.reduction',
        'Validation': 'validation.validate',
        'design_excitation': 'excitation',
        'estimate_delay': 'estimators.delay',
        'find_ripple': 'model_selection.ripple',
        'find_ripples': 'model_selection.ripple',
        'identifiability': 'model_selection.identifiability',
        'identify': 'identification',
        'load': 'datasets',
        'load_excitation': 'excitation',
        'load_result': 'result.reading',
        'reduce_model': 'model_selection.reduction',
        'shipped_excitations': 'excitation',
        'validate': 'validation.validate',
    },
    'estimators',
)
