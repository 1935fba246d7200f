"""Results as YAML files that a person reads and the controller's tools load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from pkm_description.errors import ModelFileError, PkmError
from pkm_dynamics.atomic_write import write_text_atomically
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.result.content import FORMAT, VERSION, VERSION_WITH_FRICTION, content_of
from pkm_identification.result.reading import result_of
from pkm_identification.result.result import IdentificationResult

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)  # in C where PyYAML has it
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
        plain(content_of(result)), Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True
    )
    return write_text_atomically(path, text, ModelFileError)


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
        content = yaml.load(path.read_text(encoding='utf8'), Loader=LOADER)
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
        result = replace(result_of(content), file=str(path))
    except (PkmError, ValueError) as error:
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


class _Dumper(yaml.SafeDumper):
    """Block style, but lists of numbers on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write repeated values out."""
        return True


def _represent_list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    flat = all(isinstance(item, int | float | str) for item in data)
    return dumper.represent_sequence('tag:yaml.org,2002:seq', data, flow_style=flat)


_Dumper.add_representer(list, _represent_list)
