"""Decide whether a controller may use the model of a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import Recording, load
from pkm_identification.datasets.portion import portion_of
from pkm_identification.physical.nearest import LEAST_P_VALUE
from pkm_identification.requests.refusal import Code, Refused, refusing
from pkm_identification.requests.validate_request import load_model_file
from pkm_identification.result.result import IdentificationResult
from pkm_identification.validation.validate import validate

NOTICEABLE = 0.01  # relative difference of force constants: that of careful calibrations


@dataclass(frozen=True)
class ApplyRequest:
    """Which model to apply, and what it must predict before."""

    model_file: str
    validation_data: str = ''  # path of a recording; empty: none
    max_relative_absolute_error: float = 0.5  # [1] on it, or on the parts held out
    waive_validation: bool = False  # where nothing held out speaks for the model


@dataclass(frozen=True)
class Applicable:
    """A model that a controller may use."""

    result: IdentificationResult  # whose `standard_parameters` are physical
    remarks: tuple[str, ...]  # what a user of the model should know


def applicable_model(request: ApplyRequest, model: ClosedChainModel) -> Applicable:
    """Return the model of a file if it is physical and predicts what is asked for.

    Raises `Refused` with BAD_MODEL, WRONG_ROBOT, NOT_PHYSICAL or VALIDATION_FAILED.
    """
    result = load_model_file(request.model_file, model)
    remarks = _constants_remark(result, model)
    if not result.is_physical:
        nearest = result.consistent
        if not nearest.p_value > LEAST_P_VALUE:
            raise Refused(
                Code.NOT_PHYSICAL,
                f"'{request.model_file}' is not physical ({'; '.join(nearest.violations)}) and the "
                f'nearest physical model contradicts the data (p = {nearest.p_value:.1e})',
            )
        remarks.append(
            'the estimate itself is not physical; applied is the nearest physical model, which '
            f'is {nearest.distance:.2f} standard deviations away (p = {nearest.p_value:.3f})'
        )
    remarks += _require_validation(request, result, model)
    return Applicable(result, tuple(remarks))


def _require_validation(
    request: ApplyRequest, result: IdentificationResult, model: ClosedChainModel
) -> list[str]:
    """Refuse a model that does not predict data held out (VALIDATION_FAILED); remarks on a waiver.

    These are a recording that it was not identified from, or else the parts of its own data that
    its identification held out.
    """
    path, most = request.validation_data, request.max_relative_absolute_error
    if not most > 0.0:
        why = f'max_relative_absolute_error must be positive, not {most:g}'
        raise Refused(Code.VALIDATION_FAILED, why)
    if path:
        with refusing(Code.VALIDATION_FAILED):  # by the physical parameters, which are applied
            recording = load(path)
            if _is_of(recording, result):
                why = f"the model was identified from '{path}', which shows nothing of other data"
                raise Refused(Code.VALIDATION_FAILED, why)
            error = validate(recording, result.as_physical(), model).against_measured.overall
        where = f"on '{path}'"
    elif request.waive_validation:
        return ['validation was waived: nothing held out was asked to speak for the model']
    elif (errors := result.diagnostics.force_errors) is not None:
        error = float(np.sqrt(np.mean(errors.relative**2)))
        where = 'on the held-out parts of its own data'
    else:
        raise Refused(
            Code.VALIDATION_FAILED,
            f"'{request.model_file}' has no held-out part of its data: name validation_data that "
            'it was not identified from, or set waive_validation',
        )
    if not error <= most:
        why = f'relative error {where} is {error:.3f}, at most {most:g} is allowed'
        raise Refused(Code.VALIDATION_FAILED, why)
    return []


def _is_of(recording: Recording, result: IdentificationResult) -> bool:
    """Whether a model was identified from this file, or from the same part of it."""
    whole = str(recording.provenance['source'])
    part = portion_of(whole).suffix
    return any(
        each.get('sha256') == recording.provenance['sha256']
        and portion_of(str(each.get('source', ''))).suffix in ('', part)
        for each in result.provenance.data
    )


def _constants_remark(result: IdentificationResult, model: ClosedChainModel) -> list[str]:
    """Say where a model rests on other force constants than those of the description."""
    if result.force_constants is None:
        return []
    own = result.force_constants.by_joint
    described = zip(model.actuated_joints, np.asarray(model.force_constants).tolist(), strict=True)
    given = {name: value for name, value in described if name in own}
    off = {name: abs(value / own[name] - 1) for name, value in given.items()}
    worst = max(off, key=lambda name: off[name], default='')
    if not worst or not off[worst] > NOTICEABLE:
        return []
    return [
        f"the model rests on force constants unlike the description's ('{worst}': "
        f'{own[worst]:.4g}, described {given[worst]:.4g}): a controller that makes currents with '
        'the latter is off by as much; put the former into the description'
    ]
