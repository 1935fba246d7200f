"""The manifest of a dataset: what made it, and digests of what it holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pkm_bringup.public_data.dataset_cases import TRAIN, Case, DatasetOptions
from pkm_bringup.views.console import json_text
from pkm_description.errors import DatasetError
from pkm_description.untrusted.named_files import file_text

RECORDINGS = 'recordings'  # their folder
MANIFEST = 'manifest.json'
README = 'README.md'
FORM = 'pkm dataset 1'  # what the file says it is
LARGEST = 1 << 24  # [characters]


@dataclass(frozen=True)
class Manifest:
    """What a dataset says of itself.

    `contents` has, by path in the dataset, the SHA-256 of the numbers (not of the bytes of a file)
    or of a text; of recordings also the period [s] and the number of samples.
    """

    folder: Path
    options: DatasetOptions
    versions: Mapping[str, Any]
    contents: Mapping[str, Mapping[str, Any]]

    @property
    def cases(self) -> list[Case]:
        """All cases."""
        return self.options.cases

    def period_of(self, case: Case) -> float:
        """Period [s] of the motion to estimate from."""
        return float(self.contents[f'{RECORDINGS}/{case.name}/{TRAIN}']['period'])

    def text(self) -> str:
        """Return the file."""
        cases = {case.name: case.to_dict() for case in self.cases}
        return json_text(
            {
                'form': FORM,
                'options': self.options.to_dict(),
                'versions': self.versions,
                'cases': cases,
                'contents': dict(sorted(self.contents.items())),
            }
        )


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a dataset; DatasetError where there is none, or not of this form."""
    path = folder / MANIFEST
    if not path.is_file():
        raise DatasetError(
            f"'{folder}' is no dataset: it has no {MANIFEST} (`pkm dataset make` makes one)"
        )
    try:
        found = json.loads(file_text(path, DatasetError, LARGEST, 'manifest'))
        if found['form'] != FORM:
            raise DatasetError(f"'{path}' is of the form {found['form']!r}, not '{FORM}'")
        given = found['options']
        lists: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
        }
        read = Manifest(
            folder, DatasetOptions(**lists), dict(found['versions']), dict(found['contents'])
        )
        for case in read.cases:
            read.period_of(case)
        return read
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"'{path}' is no manifest of a dataset: {error!r}") from error
