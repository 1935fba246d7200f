"""Broken files of every form end in success or in an error of ours, in bounded time and memory.

`python tests/helpers/fuzzing.py COUNT [SEED] [FORM ...]` runs more of them.
"""

from __future__ import annotations

from pathlib import Path

import fuzzing
import numpy as np
import pytest
from fuzzed_files import FORMS, NAMES, SAMPLED
from fuzzing import LONGEST, Tally, broken_bytes, broken_tree, tried

from pkm_description import DescriptionError, load
from pkm_description.errors import DatasetError, TrajectoryError
from pkm_dynamics.trajectories import load_trajectory
from pkm_identification.datasets.tables.column_mapping import read_column_mapping
from pkm_identification.excitation import load_excitation

COUNT = 25
SLOW_MACHINE = 5.0  # times slower than the one on which the limits hold


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', FORMS)
def test_broken_files_give_our_errors(name: str) -> None:
    tally = FORMS[name].tally(COUNT, seed=0, longest=SLOW_MACHINE * LONGEST)
    assert not tally.defects, str(tally)
    assert tally.inputs == COUNT == tally.read + tally.refused


def test_defects_are_seen(monkeypatch) -> None:
    monkeypatch.setattr(fuzzing, 'MOST', 20 << 20)
    tally = Tally()

    def wrong() -> None:
        raise KeyError('x')

    def large() -> None:
        np.ones(5 * 10**6).sum()  # 40 MB

    tried(tally, 'one', wrong)
    tried(tally, 'two', lambda: sum(range(10**6)), longest=1e-3)
    tried(tally, 'three', large)
    tried(tally, 'four', lambda: None)
    kinds = [defect.split()[0] for defect in tally.defects]
    assert kinds[:2] == ['one:', 'two:'] and set(kinds) == {'one:', 'two:', 'three:'}
    assert 'KeyError' in tally.defects[0]


def test_broken_inputs_repeat_with_their_seed() -> None:
    data = b'some bytes that are broken'
    for seed in range(20):
        first, second = (broken_bytes(data, np.random.default_rng(seed)) for _ in 'ab')
        assert first == second
        trees = [broken_tree({'a': [1, {'b': 2}]}, np.random.default_rng(seed)) for _ in 'ab']
        assert str(trees[0]) == str(trees[1])


@pytest.mark.parametrize(
    ('old', 'new'), [('unit: s', 'unit: {a: s}'), ('unit: N', 'unit: [N]'), ('unit: m', 'unit: {}')]
)
def test_a_unit_that_is_no_text(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / 'names.yaml'
    path.write_text(NAMES.replace(old, new))
    with pytest.raises(DatasetError, match='unknown unit'):
        read_column_mapping(path)


def test_a_robot_that_cannot_close_is_given_up_soon(tmp_path: Path, monkeypatch) -> None:
    from pkm_description import home_search
    from pkm_description.assembly import Assembly

    path = FORMS['robot.urdf'].make(tmp_path)
    text, iterations, close = path.read_text(), [], Assembly.close

    def counted(self, *arguments, **options):
        found = close(self, *arguments, **options)
        iterations.append(found.iterations)
        return found

    monkeypatch.setattr(Assembly, 'close', counted)
    assert 'xyz="0.1 0 0"' in text  # of the right motor
    path.write_text(text.replace('xyz="0.1 0 0"', 'xyz="3.0 0 0"'))
    with pytest.raises(DescriptionError, match='open'):
        load(path)
    assert sum(iterations) <= 1.3 * home_search._ITERATIONS  # the last start is not cut off


@pytest.mark.parametrize('names', ['true', '3', '1.5'])
def test_coordinate_names_that_are_no_list(tmp_path: Path, names: str) -> None:
    path = tmp_path / 'trajectory.yaml'
    path.write_text(SAMPLED.replace('[a]', names, 1))
    with pytest.raises(TrajectoryError, match='coordinate_names'):
        load_trajectory(path)


def test_figures_of_a_design_that_are_whole_numbers_beyond_all_bounds(tmp_path: Path) -> None:
    path = FORMS['design.yaml'].make(tmp_path)
    begin, _, end = path.read_text().partition('  rank: ')
    path.write_text(f'{begin}  rank: {10**40}\n{end.split(chr(10), 1)[1]}')
    assert load_excitation(path).period > 0.0


@pytest.mark.filterwarnings('ignore:.*encountered:RuntimeWarning')
def test_lengths_beyond_all_bounds(tmp_path: Path) -> None:
    path = FORMS['robot.urdf'].make(tmp_path)
    path.write_text(path.read_text().replace('xyz="0.1 0 0"', 'xyz="1e308 0 0"'))
    with pytest.raises(DescriptionError, match='far too large'):
        load(path)
