"""Progress, cancelling, and errors of the caller's functions, with one process and two."""

import os
import threading
from pathlib import Path

import joblib
import numpy as np
import pytest

import pkm_description
from pkm_description.errors import FeasibilityError
from pkm_dynamics import ClosedChainModel
from pkm_identification.excitation import design_excitation
from pkm_identification.excitation.search.workers import Monitor

OPTIONS = {'harmonics': 2, 'period': 1.0, 'starts': 4, 'iterations': 8, 'candidates': 2}
both = pytest.mark.parametrize('workers', [1, 2])


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('five_bar'))


def workers_of_this_process():
    """Processes of searches: children that run, but for joblib's tracker of resources."""
    found = []
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            state, parent = (entry / 'stat').read_text().rpartition(')')[2].split()[:2]
            command = (entry / 'cmdline').read_text()
        except OSError:
            continue
        if int(parent) == os.getpid() and state != 'Z' and 'loky' in command:
            found += [] if 'resource_tracker' in command else [command]
    return found


@both
def test_fractions_grow_and_motions_are_told_as_they_are_found(model, workers):
    told, found = [], []
    callers = {'progress': lambda *s: told.append(s), 'found': lambda *s: found.append(s)}
    design = design_excitation(model, workers=workers, **callers, **OPTIONS)
    objectives = design.origin['start_objectives']
    assert sorted(value for _, value in found) == sorted(filter(np.isfinite, objectives))
    best, _ = min(found, key=lambda pair: pair[1])
    assert best.to_dict() == design.trajectory.to_dict()
    fractions = [fraction for _, fraction, *_ in told]
    assert fractions[0] == 0.0 and fractions[-1] == 1.0
    assert fractions == sorted(fractions)
    assert len(set(fractions)) > 4
    left = np.array([seconds for _, _, seconds, _ in told])
    assert np.isnan(left[0]) and left[-1] == 0.0
    assert np.all(left[~np.isnan(left)] >= 0.0)
    assert told[-2][0] == '4 of 4 starts' and told[-2][3] < 0.0
    # one figure with one name: of the search, of its end, and of the file
    criterion = design.figures['criterion']
    assert told[-1][0] == 'done' and told[-1][3] == criterion
    assert criterion == pytest.approx(min(filter(np.isfinite, objectives)), abs=0.05)


def test_time_left_is_what_the_pace_so_far_needs(monkeypatch):
    """A quarter done in 10 s: 30 s are left."""
    now, told = [100.0], []
    monkeypatch.setattr('time.monotonic', lambda: now[0])
    monitor = Monitor(2, lambda *state: told.append(state), None)
    monitor.begin([0])
    now[0] = 110.0
    monitor.update({0: (0.5, -3.0)})
    assert told[-1][2] == pytest.approx(30.0)
    monitor.update({0: (0.4, -3.0)})  # an older note
    assert told[-1][1] == told[-2][1]


@both
@pytest.mark.parametrize('kind', ['callable', 'event'])
def test_cancelling_keeps_the_best_so_far(model, workers, kind):
    stop = threading.Event()

    def progress(text, fraction, left, criterion):
        if np.isfinite(criterion) and fraction > 0.2:
            stop.set()

    cancel = stop if kind == 'event' else stop.is_set
    found = design_excitation(model, workers=workers, progress=progress, cancel=cancel, **OPTIONS)
    assert found.origin['cancelled']
    assert len(found.origin['start_objectives']) < 4
    assert found.figures['rank'] == 6


def test_cancelled_from_the_beginning(model):
    """One start is begun and ends at once: its motion, or the reason why there is none."""
    try:
        found = design_excitation(model, workers=1, cancel=lambda: True, **OPTIONS)
    except FeasibilityError as error:
        assert 'cancelled' in str(error)
    else:
        assert found.origin['cancelled'] and len(found.origin['start_objectives']) == 1


@both
@pytest.mark.parametrize('error', [RuntimeError, KeyboardInterrupt])
def test_an_error_of_the_caller_leaves_no_process_behind(model, workers, error):
    def progress(text, fraction, left, criterion):
        if fraction > 0.1:
            raise error('of the caller')

    with pytest.raises(error, match='of the caller'):
        design_excitation(model, workers=workers, progress=progress, **OPTIONS)
    if workers > 1:  # those of earlier searches, too
        assert workers_of_this_process() == []
    again = design_excitation(model, workers=workers, **{**OPTIONS, 'iterations': 1})
    assert again.figures['rank'] == 6


@pytest.fixture(autouse=True, scope='module')
def no_processes_in_the_end():
    yield
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
