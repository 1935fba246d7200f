"""Model files: YAML that a person reads and the controller's tools load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pkm_description.errors import ModelFileError
from pkm_description.untrusted.bounded_yaml import MAX_CHARACTERS, load_yaml
from pkm_description.untrusted.named_files import allowed, file_text
from pkm_dynamics.atomic_write import write_text_atomically
from pkm_identification.result.fields import plain

FORMAT = 'pkm identified model'
# Version of a model file: the first whose readers leave nothing out that forces depend on
VERSION = 1
VERSION_WITH_FRICTION = 2  # has `drive_friction`
VERSION_WITH_TERMS = 3  # has `drive_terms` or `load_friction`
VERSIONS = (VERSION, VERSION_WITH_FRICTION, VERSION_WITH_TERMS)
PLAIN_DUMPER: type[yaml.SafeDumper] = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
HEADER = """\
# Identified dynamic model. SI units. `parameters` are the estimates with their standard
# deviations, these as shares of the values [%], and 95 % confidence intervals;
# `standard_parameters` are a physical set of bodies and friction nearest to them, for the
# controller.
"""


def write_model_file(content: Mapping[str, Any], path: Path | str) -> Path:
    """Write the entries of a result to a new file; a half-written one is never seen."""
    allowed(path, ModelFileError)
    text = HEADER + yaml.dump(
        plain(content), Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True
    )
    return write_text_atomically(path, text, ModelFileError)


def read_model_file(path: Path) -> dict[str, Any]:
    """Return the entries of a model file of a known version; raises ModelFileError."""
    text = file_text(path, ModelFileError, MAX_CHARACTERS, 'model file')
    content = load_yaml(text, f"model file '{path}' cannot be read: it", ModelFileError)
    if not isinstance(content, dict) or content.get('format') != FORMAT:
        raise ModelFileError(f"'{path}' is not an identified model (format: {FORMAT})")
    if content.get('version') not in VERSIONS:
        raise ModelFileError(
            f"'{path}' has version {content.get('version')}; this release reads versions up to "
            f'{VERSIONS[-1]}: read it with the release that wrote it, or identify again'
        )
    return content


def version_of(content: Mapping[str, Any]) -> int:
    """Return the version that entries of a model file need."""
    if content.keys() & {'drive_terms', 'load_friction'}:
        return VERSION_WITH_TERMS
    return VERSION_WITH_FRICTION if 'drive_friction' in content else VERSION


class _Dumper(PLAIN_DUMPER):
    """Block style, but lists of numbers on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write repeated values out."""
        return True


def _represent_list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    flat = all(isinstance(item, int | float | str) for item in data)
    return dumper.represent_sequence('tag:yaml.org,2002:seq', data, flow_style=flat)


_Dumper.add_representer(list, _represent_list)
