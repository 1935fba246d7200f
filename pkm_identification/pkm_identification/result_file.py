"""Results as YAML files that a person reads and the controller's tools load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from numpy.typing import NDArray

from pkm_description.errors import ModelFileError
from pkm_dynamics.friction_laws import DriveFriction
from pkm_dynamics.new_file import write_new_text
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.feasibility import Feasible
from pkm_identification.force_constants import ForceConstants, PayloadEstimate
from pkm_identification.guaranteed_set import GuaranteedSet
from pkm_identification.identified_friction import IdentifiedFriction
from pkm_identification.residual_analysis import AxisResiduals
from pkm_identification.result import IdentificationResult

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

FORMAT = 'pkm identified model'
VERSION = 1
VERSION_WITH_FRICTION = 2  # holds friction that a reader of version 1 would leave out
HEADER = """\
# Identified dynamic model. SI units. `parameters` are the estimates with their standard
# deviations, these as shares of the values [%], and 95 % confidence intervals;
# `standard_parameters` are a physical set of bodies and friction nearest to them, for the
# controller.
"""


def save_result(result: IdentificationResult, path: Path | str) -> Path:
    """Write a result; a half-written file is never seen.

    Raises
    ------
    ModelFileError
        The file exists already or cannot be written.
    """
    text = HEADER + yaml.dump(
        plain(_content(result)), Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True
    )
    return write_new_text(path, text, ModelFileError)


def load_result(path: Path | str, model: ClosedChainModel | None = None) -> IdentificationResult:
    """Read a result.

    Parameters
    ----------
    path
        File that `IdentificationResult.save` wrote.
    model
        Mechanism to predict with; without it the result loads its description itself.

    Raises
    ------
    ModelFileError
        The file is missing or malformed, or belongs to another robot than `model`.
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding='utf8'))
    except FileNotFoundError as error:
        raise ModelFileError(f"model file '{path}' does not exist") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ModelFileError(f"model file '{path}' cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get('format') != FORMAT:
        raise ModelFileError(f"'{path}' is not an identified model (format: {FORMAT})")
    if content.get('version') not in (VERSION, VERSION_WITH_FRICTION):
        raise ModelFileError(
            f"'{path}' has version {content.get('version')}; this release reads {VERSION} and "
            f'{VERSION_WITH_FRICTION}'
        )
    try:
        result = replace(_result(content), file=str(path))
    except KeyError as error:
        raise ModelFileError(f"model file '{path}' lacks {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"model file '{path}' is malformed: {error}") from error
    return result if model is None else result.with_model(model)


def plain(value: Any) -> Any:
    """Turn arrays and numpy scalars into what YAML and JSON write."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Trajectory):
        return plain(value.to_dict())
    if isinstance(value, IdentificationResult):
        return {'estimator': value.estimator, 'robot': value.robot, 'file': value.file}
    return value


def _content(result: IdentificationResult) -> dict[str, Any]:
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
        **_friction_content(result.drive_friction),
        'diagnostics': result.diagnostics,
        'provenance': result.provenance,
        'covariance': result.covariance,
        **_guaranteed_content(result),
        'base_matrix': [_sparse(row, names) for row in result.matrix],
        'base_columns': [_sparse(column, names) for column in result.columns.T],
    }


def _result(content: Mapping[str, Any]) -> IdentificationResult:
    parameters = content['parameters']
    count = len(parameters)
    names = list(content['standard_parameters'])
    standard = np.array(list(content['standard_parameters'].values()), dtype=float)
    values = np.array([p['value'] for p in parameters], dtype=float)
    covariance = np.array(content['covariance'], dtype=float)
    matrix = _dense(content['base_matrix'], names, 'base_matrix')
    columns = _dense(content['base_columns'], names, 'base_columns').T
    joints = [str(name) for name in content['actuated_joints']]
    rms = np.array(content['residual_rms'], dtype=float)
    for array, shape, what in (
        (covariance, (count, count), 'covariance'),
        (matrix, (count, len(names)), 'base_matrix'),
        (columns, (len(names), count), 'base_columns'),
        (rms, (len(joints),), 'residual_rms'),
    ):
        if array.shape != shape:
            raise ValueError(f'{what} has shape {array.shape}, expected {shape}')
    for array, what in ((values, 'parameters'), (standard, 'standard_parameters')):
        if not np.isfinite(array).all():
            raise ValueError(f'{what} hold a value that is not finite')
    if np.isnan(covariance).any() or (np.diag(covariance) < 0).any():
        raise ValueError('covariance has a negative variance or NaN')
    return IdentificationResult(
        names=[str(p['name']) for p in parameters],
        values=values,
        covariance=covariance,
        units=[str(p['unit']) for p in parameters],
        expressions=[str(p['expression']) for p in parameters],
        estimator=str(content['estimator']),
        matrix=matrix,
        columns=columns,
        parameter_names=names,
        feasible=Feasible(
            standard_parameters=standard,
            distance=float(content['distance_to_physical']),
            p_value=float(content['p_value_physical']),
            is_physical=bool(content['is_physical']),
            violations=tuple(str(text) for text in content['violations']),
        ),
        joint_names=joints,
        residuals=None,
        residual_rms=rms,
        robot=str(content['robot']),
        digest=str(content['description_digest']),
        path=str(content['description_path']),
        guaranteed=_guaranteed(content.get('guaranteed_set'), [str(p['name']) for p in parameters]),
        force_constants=_force_constants(content, joints, count),
        payloads=tuple(PayloadEstimate.from_mapping(each) for each in content.get('payloads', ())),
        diagnostics=dict(content['diagnostics']),
        provenance=dict(content['provenance']),
        residual_analysis=tuple(
            AxisResiduals.from_mapping(each) for each in content.get('residual_analysis', ())
        ),
        drive_friction=_friction(content.get('drive_friction'), joints, count),
    )


def _friction_content(friction: IdentifiedFriction | None) -> dict[str, Any]:
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


def _friction(
    content: Mapping[str, Any] | None, joints: list[str], count: int
) -> IdentifiedFriction | None:
    if content is None:
        return None
    parameters = content['parameters']
    law = DriveFriction.from_parameters(
        {str(p['name']): float(p['value']) for p in parameters},
        joints,
        float(content['transition_velocity']),
    )
    order = [str(p['name']) for p in parameters]
    if order != law.names or dict(zip(joints, law.laws, strict=True)) != dict(content['laws']):
        raise ValueError('drive_friction: laws and parameters do not belong together')
    size = len(order)
    return IdentifiedFriction(
        law,
        tuple(str(p['unit']) for p in parameters),
        np.array(content['covariance'], dtype=float).reshape(size, size),
        np.array(content['cross_covariance'], dtype=float).reshape(count, size),
    )


def _guaranteed_content(result: IdentificationResult) -> dict[str, Any]:
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


def _guaranteed(content: Mapping[str, Any] | None, names: list[str]) -> GuaranteedSet | None:
    if content is None:
        return None
    unknown = [name for name in content['free'] if name not in names]
    if unknown:
        raise ValueError(f"guaranteed_set names the unknown parameter '{unknown[0]}'")
    free = np.array([names.index(name) for name in content['free']], dtype=np.int64)
    if len(content['centre']) != len(names):
        raise ValueError(f'guaranteed_set has {len(content["centre"])} values of its centre')
    return GuaranteedSet(np.array(content['centre'], dtype=float), content['root'], free)


def _calibration(result: IdentificationResult) -> dict[str, Any]:
    """Force constants and payloads, where they were estimated."""
    content: dict[str, Any] = {}
    if result.force_constants is not None:
        content['force_constants'] = result.force_constants.to_mapping()
    if result.payloads:
        content['payloads'] = [payload.to_mapping() for payload in result.payloads]
    return content


def _force_constants(
    content: Mapping[str, Any], joints: list[str], count: int
) -> ForceConstants | None:
    if 'force_constants' not in content:
        return None
    return ForceConstants.from_mapping(content['force_constants'], joints, count)


def _sparse(row: Array, names: list[str]) -> dict[str, float]:
    return {names[i]: float(row[i]) for i in np.flatnonzero(row)}


def _dense(rows: Any, names: list[str], what: str) -> Array:
    index = {name: i for i, name in enumerate(names)}
    dense = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        for name, value in row.items():
            if name not in index:
                raise ValueError(f"{what} names the unknown standard parameter '{name}'")
            dense[i, index[name]] = float(value)
    return dense


class _Dumper(yaml.SafeDumper):
    """Block style, but lists of numbers on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write repeated values out."""
        return True


def _represent_list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    flat = all(isinstance(item, int | float | str) for item in data)
    return dumper.represent_sequence('tag:yaml.org,2002:seq', data, flow_style=flat)


_Dumper.add_representer(list, _represent_list)
