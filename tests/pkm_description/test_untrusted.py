"""Files by name and YAML of unknown origin: what would block, fill the memory or leave a folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pkm_description.errors import LONGEST, DatasetError, DescriptionError
from pkm_description.untrusted.bounded_yaml import load_yaml
from pkm_description.untrusted.named_files import (
    allowed,
    file_text,
    foreign_errors,
    only_below,
    regular_file,
    regular_folder,
)

SIZE = 100
TENS = [f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 10)}]' for i in range(1, 12)]


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('[' * 100_000, 'nested more than 50 levels'),
        ('{' * 100_000, 'nested more than 50 levels'),
        ('- ' * 100_000, 'nested more than 50 levels'),
        ('\n'.join(['a0: &a0 [x, x]', *TENS]), 'aliases written out'),
        ('&a [*a]', 'stands for itself'),
        ('!!python/object:os.system x', 'is not YAML'),
        ('2001-13-99', 'is not YAML'),
        ('!!bool x', 'is not YAML'),
        ('!!timestamp x', 'is not YAML'),
        ('x' * 101, 'at most 100'),
    ],
)
def test_yaml_is_bounded(text: str, message: str) -> None:
    begun = time.process_time()
    most = SIZE if set(text) == {'x'} else 10**7
    with pytest.raises(DatasetError, match=message):
        load_yaml(text, 'text', DatasetError, most)
    assert time.process_time() - begun < 1.0


def test_aliases_that_stand_for_little_are_read() -> None:
    assert load_yaml('{a: &a [1, 2], b: *a}', 'text', DatasetError) == {'a': [1, 2], 'b': [1, 2]}


def test_only_regular_files_of_bounded_size(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / 'pipe')
    (tmp_path / 'long').write_bytes(b'x' * (SIZE + 1))
    (tmp_path / 'short').write_bytes(b'x' * SIZE)
    assert regular_file(tmp_path / 'short', DatasetError, SIZE) == tmp_path / 'short'
    for name, message in (
        (tmp_path / 'pipe', 'not a regular file'),
        ('/dev/zero', 'not a regular file'),
        (tmp_path, 'not a regular file'),
        (tmp_path / 'long', 'at most 100'),
        (tmp_path / 'none', 'No such file'),
        ('', 'empty name'),
        ('a\0b', 'null'),
    ):
        with pytest.raises(DatasetError, match=message):
            regular_file(name, DatasetError, SIZE)
    with pytest.raises(DatasetError, match='not a regular file'):
        regular_folder(tmp_path, DatasetError, 10 * SIZE)
    (tmp_path / 'pipe').unlink()
    with pytest.raises(DatasetError, match='at most'):
        regular_folder(tmp_path, DatasetError, 2 * SIZE)
    with pytest.raises(DatasetError, match='UTF-8|utf-8'):
        (tmp_path / 'short').write_bytes(b'\xff')
        file_text(tmp_path / 'short', DatasetError, SIZE)


def test_names_stay_below_the_folders(tmp_path: Path, monkeypatch) -> None:
    inside, outside = tmp_path / 'inside', tmp_path / 'inside_not'
    inside.mkdir()
    outside.mkdir()
    (inside / 'link').symlink_to(outside)
    monkeypatch.chdir(inside)
    assert allowed(outside / 'x') == outside / 'x'  # whoever runs a command names what he wants
    with only_below(inside):
        for name in ('x', 'new/x', inside / 'x', '../inside/x'):
            allowed(name)
        for name in ('../x', outside / 'x', 'link/x', 'link', '/dev/zero', '/', 'a/../../x'):
            with pytest.raises(DatasetError, match='outside of the data folder'):
                allowed(name, DatasetError)
    allowed(outside / 'x')


def test_errors_of_libraries_become_ours() -> None:
    with pytest.raises(DatasetError, match="'x' is broken: MemoryError"):
        with foreign_errors(DatasetError, "'x' is broken"):
            raise MemoryError


def test_a_message_about_millions_of_characters_stays_short() -> None:
    text = str(DescriptionError(f"unknown joint '{'[' * 10**6}'; valid are a, b"))
    assert text.startswith("unknown joint '[[[") and text.endswith('valid are a, b')
    assert len(text) < 1.1 * LONGEST
