"""Excitation, recording, datasets, estimation and validation for parallel robots.

`load(path)` reads a recording, `identify(data, model)` estimates from it and gives an
`IdentificationResult`, which `result.save(path)` writes and `load_result(path)` reads.
`estimators()` lists the estimators, `RecursiveEstimator` runs with a robot, `estimate_delay` gives
the `Delay` of the efforts. `DriveGains` asks for force constants, `ForceConstants` and
`PayloadEstimate` are what a result holds of them.

`validate` predicts another recording (`Validation`), `identifiability` judges the parameters
(`Identifiability`), `reduce_model` drops those that the data do not determine (`Reduction`).
`design_excitation`, `load_excitation` and `shipped_excitations` give an `ExcitationDesign`.

What `load` and `identify` need is imported with the package, everything else when it is asked for.
"""

from importlib import import_module
from typing import Any

from pkm_identification.datasets import Recording, load
from pkm_identification.estimators.registry import estimators  # the function, not the folder
from pkm_identification.identify import identify
from pkm_identification.result.reading import load_result
from pkm_identification.result.result import IdentificationResult

_MODULES = {
    'Delay': 'result.diagnostics',
    'DriveGains': 'force_constants.drive_gains',
    'ExcitationDesign': 'excitation',
    'ForceConstants': 'force_constants.force_constants',
    'Identifiability': 'model_selection.identifiability',
    'PayloadEstimate': 'force_constants.payload_estimate',
    'RecursiveEstimator': 'estimators.filters.recursive_estimator',
    'Reduction': 'model_selection.reduction',
    'Validation': 'validation.validate',
    'design_excitation': 'excitation',
    'estimate_delay': 'estimators.delay',
    'identifiability': 'model_selection.identifiability',
    'load_excitation': 'excitation',
    'reduce_model': 'model_selection.reduction',
    'shipped_excitations': 'excitation',
    'validate': 'validation.validate',
}
"""Where the names are that are imported when they are asked for."""

__all__ = [
    'IdentificationResult',
    'Recording',
    'estimators',
    'identify',
    'load',
    'load_result',
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for first."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)


def __dir__() -> list[str]:
    """Return all names, those that are not imported yet too."""
    return sorted({*globals(), *__all__})
