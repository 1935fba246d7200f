"""Reading of model files, whose entries are checked against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pkm_description.drives import terms_mapping, terms_of
from pkm_description.errors import ModelFileError, PkmError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.covariance.axis_residuals import AxisResiduals
from pkm_identification.covariance.unidentifiable_directions import UnidentifiableDirections
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.physical.nearest import ConsistentParameters
from pkm_identification.result.diagnostics import Diagnostics
from pkm_identification.result.fields import EQUAL, Fields, check_deviations, different
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.result.identified_friction import IdentifiedFriction
from pkm_identification.result.model_file import read_model_file
from pkm_identification.result.provenance import Provenance
from pkm_identification.result.result import IdentificationResult

Part = TypeVar('Part')
APART = 0.02  # standard deviations between an estimate and physical bodies that have its values
ROUNDED = 1e-5  # of the terms of a base parameter


def load_result(path: Path | str, model: ClosedChainModel | None = None) -> IdentificationResult:
    """Read a result that `IdentificationResult.save` wrote.

    Without a `model`, the mechanism to predict with, the result loads its description itself. A
    `ModelFileError` where the file is missing or malformed, or belongs to another robot than
    `model`.
    """
    path = Path(path)
    content = read_model_file(path)
    try:
        result = replace(result_of(content), file=str(path))
    except (PkmError, ValueError) as error:
        raise ModelFileError(f"model file '{path}' is malformed: {error}") from error
    return result if model is None else result.with_model(model)


def result_of(content: Any) -> IdentificationResult:
    """Return the result that a model file describes; a ValueError names an entry that is wrong."""
    fields = Fields(content)
    joints = fields.names('actuated_joints')
    rows = fields.mappings('parameters')
    names = different([row.text('name') for row in rows], 'parameters')
    count = len(names)
    bodies = fields.mapping('standard_parameters')
    standard_names = [str(name) for name in bodies.content]
    matrix = _dense(fields, 'base_matrix', standard_names, count)
    columns = _dense(fields, 'base_columns', standard_names, count).T
    result = IdentificationResult(
        names=names,
        values=np.array([row.finite('value') for row in rows]),
        covariance=fields.covariance('covariance', count),
        units=[row.text('unit') for row in rows],
        expressions=[row.text('expression') for row in rows],
        estimator=fields.text('estimator'),
        matrix=matrix,
        columns=columns,
        parameter_names=standard_names,
        consistent=ConsistentParameters(
            standard_parameters=np.array([bodies.finite(name) for name in standard_names]),
            distance=fields.number('distance_to_physical', least=0.0),
            p_value=fields.number('p_value_physical', 0.0, 1.0),
            is_physical=fields.flag('is_physical'),
            violations=tuple(fields.texts('violations')),
        ),
        joint_names=joints,
        residuals=None,
        residual_rms=fields.numbers('residual_rms', (len(joints),), finite=True),
        robot=fields.text('robot'),
        digest=fields.text('description_digest'),
        path=fields.text('description_path'),
        guaranteed=_part(fields, 'guaranteed_set', GuaranteedSet.from_fields, names),
        force_constants=_part(fields, 'force_constants', ForceConstants.from_fields, joints, count),
        payloads=tuple(map(PayloadEstimate.from_fields, fields.optional('payloads'))),
        diagnostics=Diagnostics.from_mapping(fields.get('diagnostics')),
        provenance=Provenance.from_mapping(fields.mapping('provenance').content),
        residual_analysis=tuple(
            each.read(AxisResiduals) for each in fields.optional('residual_analysis')
        ),
        drive_friction=_part(
            fields, 'drive_friction', IdentifiedFriction.from_fields, joints, count
        ),
        drive_terms=_drive_terms(fields),
        load_friction=_load_friction(fields),
        load_parameters=_part(fields, 'load_parameters', _by_name, standard_names),
        unidentifiable_directions=_part(
            fields,
            'open_directions',
            UnidentifiableDirections.from_fields,
            count + len(joints) if 'force_constants' in fields else count,
        ),
    )
    check_deviations(rows, result.standard_deviation)
    _check_base(result)
    _check_bodies(result)
    return result


def _part(fields: Fields, key: str, read: Callable[..., Part], *about: Any) -> Part | None:
    return read(fields.mapping(key), *about) if key in fields else None


def _drive_terms(fields: Fields) -> dict[str, dict[str, Any]]:
    """Forces of drives by position, checked and complete."""
    if 'drive_terms' not in fields:
        return {}
    content = fields.mapping('drive_terms').content
    return {str(joint): terms_mapping(terms_of(own, str(joint))) for joint, own in content.items()}


def _load_friction(fields: Fields) -> dict[str, float]:
    """Nominal load factors by joint."""
    if 'load_friction' not in fields:
        return {}
    content = fields.mapping('load_friction')
    return {str(joint): content.finite(joint) for joint in content.content}


def _by_name(fields: Fields, names: Sequence[str]) -> Array:
    """Values (n,) of entries by name, all of which are needed."""
    return np.array([fields.finite(name) for name in names])


def _check_base(result: IdentificationResult) -> None:
    """Refuse rows and columns that do not belong together: matrix @ columns = 1."""
    off = np.abs(result.matrix @ result.columns - np.eye(len(result.names)))
    if not (off <= EQUAL * np.maximum(np.abs(result.matrix) @ np.abs(result.columns), 1.0)).all():
        i, j = np.unravel_index(np.argmax(np.nan_to_num(off, nan=np.inf)), off.shape)
        raise ValueError(
            f"'base_matrix[{i}]' and 'base_columns[{j}]' do not belong together, of parameters "
            f"'{result.names[i]}' and '{result.names[j]}'"
        )


def _check_bodies(result: IdentificationResult) -> None:
    """Refuse standard parameters of a physical estimate that are not of its values."""
    if not result.is_physical:
        return
    standard = result.standard_parameters
    terms = np.maximum(np.abs(result.matrix) @ np.abs(standard), np.abs(result.values))
    reach = APART * result.standard_deviation + ROUNDED * terms + 1e-9
    off = np.abs(result.matrix @ standard - result.values)
    left_out = result.diagnostics.parameters.left_out
    for name, is_off in zip(result.names, off > reach, strict=True):
        if is_off and name not in left_out:
            raise ValueError(
                f"'standard_parameters' do not have the value of parameter '{name}', though "
                "'is_physical' says so"
            )


def _dense(fields: Fields, key: str, names: list[str], count: int) -> Array:
    rows = fields.mappings(key)
    if len(rows) != count:
        raise ValueError(f"'{key}' has {len(rows)} rows, expected {count}")
    index = {name: i for i, name in enumerate(names)}
    dense = np.zeros((count, len(names)))
    for i, row in enumerate(rows):
        for name in row.content:
            if name not in index:
                raise ValueError(f"'{row.where}' names the unknown standard parameter '{name}'")
            dense[i, index[name]] = row.finite(name)
    return dense
