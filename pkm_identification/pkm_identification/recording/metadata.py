"""What a bag says about itself, so that it can be identified from alone."""

from __future__ import annotations

import importlib.metadata
import math
import platform
import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from pkm_description import Payload
from pkm_description.transmissions.motor_side import spoken_by
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets.force_messages import ForceMessages

PREFIX = 'pkm'  # of the names of the project's packages
FORMAT, VERSION = 'pkm_recording', 1
RUNNING, COMPLETE, ABORTED = 'running', 'complete', 'aborted'


def recording_metadata(
    model: ClosedChainModel,
    trajectory: Any,
    periods: int,
    ramp_time: float,
    sensors: Mapping[str, Any] | None = None,
    payload: Payload | None = None,
    forces: ForceMessages | None = None,
) -> dict[str, Any]:
    """Return the metadata of a recording that is about to start.

    The trajectory is run `periods` times, with ramps of `ramp_time` [s]; `sensors` are facts about
    the measurement that messages do not carry, `payload` is a body that is fixed to the platform,
    `forces` says which messages hold the measured currents or forces.
    """
    description = model.description
    motors = spoken_by(description)
    constants = dict(zip(model.actuated_joints, model.force_constants, strict=True))
    if motors is not None:
        constants = dict(zip(motors.motors, motors.force_constants, strict=True))
    return {
        'format': FORMAT,
        'version': VERSION,
        'outcome': RUNNING,
        'robot': description.name,
        'description_digest': description.digest,
        'actuated_joints': list(model.actuated_joints),
        'side': description.side,
        'force_constants': {k: float(v) for k, v in constants.items() if math.isfinite(v)},
        'trajectory': trajectory.to_dict(),
        'period': None if trajectory.period is None else float(trajectory.period),
        'periods': int(periods),
        'ramp_time': float(ramp_time),
        'sensors': dict(sensors or {}),
        'forces': None if forces is None else forces.to_mapping(),
        'payload': None if payload is None else payload.to_mapping(),
        'created': datetime.now(timezone.utc).isoformat(timespec='seconds'),
        'versions': package_versions(),
        'git': git_revision(Path(__file__).parent),
        'python': platform.python_version(),
    }


def finished_metadata(
    metadata: Mapping[str, Any], outcome: str, error_code: int = 0, error_msg: str = ''
) -> dict[str, Any]:
    """Return the metadata of a recording that has ended as `complete` or `aborted`."""
    return {**metadata, 'outcome': outcome, 'error_code': int(error_code), 'error_msg': error_msg}


def dump_metadata(metadata: Mapping[str, Any]) -> str:
    """Return metadata as YAML text."""
    return yaml.safe_dump(dict(metadata), sort_keys=False, default_flow_style=None, width=100)


def package_versions() -> dict[str, str]:
    """Return the versions of the project's packages that are installed."""
    found = importlib.metadata.distributions()
    versions = {str(d.metadata['Name']).replace('-', '_'): str(d.version) for d in found}
    return {name: versions[name] for name in sorted(versions) if name.startswith(PREFIX)}


def git_revision(folder: Path) -> str:
    """Return the commit of the checkout that `folder` lies in; empty outside of one."""
    command = ['git', '-C', str(folder), 'describe', '--always', '--dirty', '--abbrev=40']
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5.0, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ''
    return answer.stdout.strip() if answer.returncode == 0 else ''
