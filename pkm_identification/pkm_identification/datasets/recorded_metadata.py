"""What recordings say of themselves, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pkm_description import Payload, payload_of
from pkm_description.description import JOINT, SIDES, EncoderAndDrive
from pkm_description.errors import DatasetError, DescriptionError
from pkm_description.transmissions.calibration import parsed_drives, split_published
from pkm_description.untrusted.bounded_yaml import load_yaml
from pkm_identification.datasets.effort_filter import EffortFilter


def recorded_payload(content: Any, source: str) -> Payload | None:
    """Return the payload that a recording names, a text or a mapping; raises DatasetError."""
    try:
        return payload_of(content.decode() if isinstance(content, bytes) else content)
    except (DescriptionError, UnicodeDecodeError) as error:
        raise DatasetError(f"'{source}': {error}") from error


def parsed_metadata(text: str, where: str) -> dict[str, Any]:
    """The mapping that a YAML text holds, empty without one; `where` says of which topic it is."""
    content = load_yaml(text, where, DatasetError) if text else {}
    if not isinstance(content, dict):
        raise DatasetError(f'{where} must be a YAML mapping')
    return content


def recorded_period(metadata: Mapping[str, Any], source: str) -> float | None:
    """Period [s] of the motion: as recorded, else of the trajectory; raises DatasetError."""
    trajectory = metadata.get('trajectory')
    value = metadata.get('period')
    if value is None and isinstance(trajectory, Mapping):
        value = trajectory.get('period')
        if value is None and trajectory.get('radius') and trajectory.get('speed'):
            radius, speed = (
                _number(trajectory[name], f'{name} of the trajectory in the metadata', source)
                for name in ('radius', 'speed')
            )
            value = 2 * np.pi * radius / abs(speed)
    return _number(value, 'period of the metadata', source) if value else None


def recorded_side(metadata: Mapping[str, Any], source: str) -> str:
    """`motor` where a recording says that its samples are of motors; raises DatasetError."""
    side = metadata.get('side', JOINT)
    if side not in SIDES:
        raise DatasetError(f"'{source}': side of the metadata is {side!r}; {' or '.join(SIDES)}")
    return str(side)


def recorded_calibration(text: str, source: str) -> tuple[str, dict[str, EncoderAndDrive]]:
    """Return a recorded sidecar alone, and the calibration behind it; raises DatasetError."""
    try:
        plain, content = split_published(text)
        drives: dict[str, EncoderAndDrive] = {}
        for kind in ('joints', 'motors'):
            drives |= parsed_drives((content or {}).get(kind, {}), kind)
    except DescriptionError as error:
        raise DatasetError(f"'{source}': calibration: {error}") from None
    return plain, drives


def recorded_effort_filter(metadata: Mapping[str, Any], source: str) -> EffortFilter | None:
    """Low pass of the drives in the efforts, None where none is named; raises DatasetError."""
    given = metadata.get('effort_filter')
    return None if given is None else EffortFilter.of(given, f"'{source}': metadata")


def recorded_force_constants(metadata: Mapping[str, Any], source: str) -> dict[str, float]:
    """Force constants [N/A, N m/A] by joint; raises DatasetError."""
    constants = metadata.get('force_constants', {})
    if not isinstance(constants, Mapping):
        raise DatasetError(
            f"'{source}': force_constants of the metadata must map joints to numbers"
        )
    return {
        str(name): _number(value, f"force constant of '{name}' in the metadata", source)
        for name, value in constants.items()
    }


def _number(value: Any, what: str, source: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise DatasetError(f"'{source}': {what} must be a number, got {value!r}") from None
