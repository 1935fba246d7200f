"""A result from the entries of its model file, which are checked against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.covariance.residual_analysis import AxisResiduals
from pkm_identification.covariance.unidentifiable_directions import OpenDirections
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.physical.nearest import Feasible
from pkm_identification.result.fields import Fields, different
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.result.identified_friction import IdentifiedFriction
from pkm_identification.result.result import IdentificationResult

Array = NDArray[np.float64]

EQUAL = 1e-9  # relative difference of figures that a file holds twice
APART = 0.02  # standard deviations between an estimate and physical bodies that have its values
ROUNDED = 1e-5  # of the terms of a base parameter


def result_of(content: Any) -> IdentificationResult:
    """Return the result that the entries of a model file describe.

    Raises
    ------
    ValueError
        An entry is missing, has the wrong type or contradicts another; it is named.
    """
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
        values=np.array([_finite(row, 'value') for row in rows]),
        covariance=fields.covariance('covariance', count),
        units=[row.text('unit') for row in rows],
        expressions=[row.text('expression') for row in rows],
        estimator=fields.text('estimator'),
        matrix=matrix,
        columns=columns,
        parameter_names=standard_names,
        feasible=Feasible(
            standard_parameters=np.array([_finite(bodies, name) for name in standard_names]),
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
        guaranteed=_guaranteed_set(fields, names),
        force_constants=_force_constants(fields, joints, count),
        payloads=tuple(
            PayloadEstimate.from_fields(each) for each in _optional_list(fields, 'payloads')
        ),
        diagnostics=dict(fields.mapping('diagnostics').content),
        provenance=dict(fields.mapping('provenance').content),
        residual_analysis=tuple(
            AxisResiduals.from_fields(each) for each in _optional_list(fields, 'residual_analysis')
        ),
        drive_friction=_friction(fields, joints, count),
        open_directions=_open_directions(fields, count, len(joints)),
    )
    _check_deviations(rows, result.standard_deviation)
    _check_base(result)
    _check_bodies(result)
    return result


def _check_deviations(rows: list[Fields], deviation: Array) -> None:
    """Refuse standard deviations, which a person reads, that are not those of the covariance."""
    for row, expected in zip(rows, deviation, strict=True):
        given = row.number('standard_deviation')
        if not (given == expected or abs(given - expected) <= EQUAL * expected):
            raise ValueError(
                f"'{row.path('standard_deviation')}' is {given:g}, but the variance in "
                f"'covariance' makes it {expected:g}"
            )


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
    left_out = set(result.diagnostics.get('left_out') or ())
    for name, is_off in zip(result.names, off > reach, strict=True):
        if is_off and name not in left_out:
            raise ValueError(
                f"'standard_parameters' do not have the value of parameter '{name}', though "
                "'is_physical' says so"
            )


def _finite(fields: Fields, key: str) -> float:
    value = fields.number(key)
    if not np.isfinite(value):
        raise ValueError(f"'{fields.path(key)}' is not finite")
    return value


def _optional_list(fields: Fields, key: str) -> list[Fields]:
    return fields.mappings(key) if key in fields else []


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
            dense[i, index[name]] = _finite(row, name)
    return dense


def _friction(fields: Fields, joints: list[str], count: int) -> IdentifiedFriction | None:
    if 'drive_friction' not in fields:
        return None
    own = fields.mapping('drive_friction')
    rows = own.mappings('parameters')
    names = different([row.text('name') for row in rows], own.path('parameters'))
    values = {name: _finite(row, 'value') for name, row in zip(names, rows, strict=True)}
    law = DriveFriction.from_parameters(
        values, joints, own.number('transition_velocity', least=0.0)
    )
    laws = own.mapping('laws').content
    if names != law.names or dict(zip(joints, law.laws, strict=True)) != dict(laws):
        raise ValueError("'drive_friction': laws and parameters do not belong together")
    size = len(names)
    found = IdentifiedFriction(
        law,
        tuple(row.text('unit') for row in rows),
        own.covariance('covariance', size),
        own.numbers('cross_covariance', (count, size), finite=True),
    )
    _check_deviations(rows, found.standard_deviation)
    return found


def _guaranteed_set(fields: Fields, names: list[str]) -> GuaranteedSet | None:
    if 'guaranteed_set' not in fields:
        return None
    own = fields.mapping('guaranteed_set')
    given = own.names('free')
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"'guaranteed_set.free' names the unknown parameter '{unknown[0]}'")
    free = np.array([names.index(name) for name in given], dtype=np.int64)
    root = own.numbers('root', (len(free), len(free)), finite=True)
    try:
        return GuaranteedSet(own.numbers('centre', (len(names),), finite=True), root, free)
    except ValueError as error:
        raise ValueError(f"'guaranteed_set': {error}") from error


def _force_constants(fields: Fields, joints: list[str], count: int) -> ForceConstants | None:
    if 'force_constants' not in fields:
        return None
    return ForceConstants.from_fields(fields.mapping('force_constants'), joints, count)


def _open_directions(fields: Fields, count: int, axes: int) -> OpenDirections | None:
    if 'open_directions' not in fields:
        return None
    own = fields.mapping('open_directions')
    size = count + axes if 'force_constants' in fields else count
    return OpenDirections(
        own.numbers('directions', (-1, size), finite=True), own.covariance('covariance', size)
    )
