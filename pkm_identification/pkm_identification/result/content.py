"""What a model file says of a result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_identification.result.identified_friction import IdentifiedFriction
from pkm_identification.result.result import IdentificationResult

Array = NDArray[np.float64]

FORMAT = 'pkm identified model'
VERSION = 1
VERSION_WITH_FRICTION = 2  # holds friction that a reader of version 1 would leave out


def content_of(result: IdentificationResult) -> dict[str, Any]:
    """Return all entries of the model file of a result."""
    deviation = result.standard_deviation
    relative = result.relative_standard_deviation
    interval = result.confidence_interval()
    names = result.parameter_names
    return {
        'format': FORMAT,
        'version': VERSION if result.drive_friction is None else VERSION_WITH_FRICTION,
        'robot': result.robot,
        'description_digest': result.digest,
        'description_path': result.path,
        'estimator': result.estimator,
        'is_physical': result.is_physical,
        'violations': list(result.feasible.violations),
        'distance_to_physical': result.feasible.distance,
        'p_value_physical': result.feasible.p_value,
        'actuated_joints': result.joint_names,
        'residual_rms': result.residual_rms,
        'parameters': [
            {
                'name': result.names[i],
                'value': result.values[i],
                'standard_deviation': deviation[i],
                'relative_standard_deviation': relative[i],
                'interval': interval[i],
                'unit': result.units[i],
                'expression': result.expressions[i],
            }
            for i in range(len(result.names))
        ],
        'standard_parameters': dict(zip(names, result.standard_parameters, strict=True)),
        'residual_analysis': [each.to_mapping() for each in result.residual_analysis],
        'strongest_correlations': [
            {'parameters': [first, second], 'correlation': value}
            for first, second, value in result.strongest_correlations()
        ],
        **_calibration(result),
        **_friction(result.drive_friction),
        'diagnostics': result.diagnostics,
        'provenance': result.provenance,
        'covariance': result.covariance,
        **_open_directions(result),
        **_guaranteed_set(result),
        'base_matrix': [_sparse(row, names) for row in result.matrix],
        'base_columns': [_sparse(column, names) for column in result.columns.T],
    }


def _calibration(result: IdentificationResult) -> dict[str, Any]:
    """Force constants and payloads, where they were estimated."""
    content: dict[str, Any] = {}
    if result.force_constants is not None:
        content['force_constants'] = result.force_constants.to_mapping()
    if result.payloads:
        content['payloads'] = [payload.to_mapping() for payload in result.payloads]
    return content


def _friction(friction: IdentifiedFriction | None) -> dict[str, Any]:
    if friction is None:
        return {}
    deviation = friction.standard_deviation
    return {
        'drive_friction': {
            'laws': dict(zip(friction.law.joint_names, friction.law.laws, strict=True)),
            'transition_velocity': friction.law.transition_velocity,
            'parameters': [
                {
                    'name': name,
                    'value': friction.values[i],
                    'standard_deviation': deviation[i],
                    'unit': friction.units[i],
                }
                for i, name in enumerate(friction.names)
            ],
            'covariance': friction.covariance,
            'cross_covariance': friction.cross_covariance,
        }
    }


def _open_directions(result: IdentificationResult) -> dict[str, Any]:
    found = result.open_directions
    if found is None:
        return {}
    return {'open_directions': {'directions': found.directions, 'covariance': found.covariance}}


def _guaranteed_set(result: IdentificationResult) -> dict[str, Any]:
    found = result.guaranteed
    if found is None:
        return {}
    return {
        'guaranteed_set': {
            'parameters': [
                {'name': result.names[i], 'least': low, 'most': high}
                for i, (low, high) in enumerate(found.intervals)
            ],
            'free': [result.names[i] for i in found.free],
            'centre': found.centre,
            'root': found.root,
        }
    }


def _sparse(row: Array, names: list[str]) -> dict[str, float]:
    return {names[i]: float(row[i]) for i in np.flatnonzero(row)}
