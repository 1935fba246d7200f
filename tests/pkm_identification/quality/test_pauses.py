"""Times in which nobody recorded: no samples are lost then, none are bad, nothing stood still."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkm_identification import Recording, identify
from pkm_identification.quality.examine import examined
from pkm_identification.quality.standstill import outside
from pkm_identification.result.verdict import Limit, verdict_of

RATE, SECONDS = 200.0, 8.0


@pytest.fixture
def paused(slider_model, motion):
    """The function that records a motion there, and after a pause [s] back from where it was."""

    def make(pause):
        random = np.random.default_rng(0)
        there = motion(np.arange(0, SECONDS, 1 / RATE), 2.7)
        parts = (there.q[::-1], -there.qd[::-1], there.qdd[::-1])
        both = [np.concatenate(pair) for pair in zip(vars(there).values(), parts, strict=True)]
        whole = replace(there, q=both[0], qd=both[1], qdd=both[2])
        time = np.arange(len(whole)) / RATE
        time[len(there.q) :] += pause
        noise = random.normal(size=whole.q.shape)
        efforts = slider_model.inverse_dynamics(whole) + noise
        return Recording.from_arrays(time, ('left', 'right'), whole.q + 1e-6 * noise, efforts)

    return make


def test_a_pause_is_no_bad_data(paused, slider_model):
    """Ten times as long as the motion, which is at the same place before and after."""
    result = identify(paused(160.0), slider_model, method='filter')
    short = identify(paused(2.0), slider_model, method='filter')
    assert verdict_of(result).error == pytest.approx(verdict_of(short).error, rel=0.05)
    assert verdict_of(result).limit is not Limit.DATA
    defects = result.diagnostics.data[0].quality['defects']
    assert [(each['kind'], each['count'], each['share']) for each in defects] == [('pause', 1, 0.0)]
    assert 'pauses of the recording: 1, at t = 7.995 ... 168 s' in defects[0]['text']


@pytest.mark.parametrize(('pause', 'kind'), [(0.1, 'gap'), (0.5, 'gap'), (1.0, 'pause')])
def test_short_gaps_are_lost_samples(paused, pause, kind):
    """A second tells nothing of a motion with three harmonics in 2.7 s."""
    (found,) = [each for each in examined(paused(pause)).quality.defects if each.count]
    assert found.kind == kind
    if kind == 'gap':  # of those that should be there
        lost = round(pause * RATE)
        assert found.count == lost
        assert found.share == pytest.approx(lost / (lost + 2 * SECONDS * RATE))


def test_stretches_outside_of_gaps():
    found = outside(np.array([[0, 9], [20, 29], [40, 49]]), np.array([[8, 12], [22, 25], [41, 42]]))
    assert found.tolist() == [[0, 7], [20, 21], [26, 29], [40, 40], [43, 49]]
    assert outside(np.array([[5, 6]]), np.array([[3, 9]])).shape == (0, 2)


def test_motions_put_together_are_parted(paused, slider_model):
    """The second begins elsewhere in the very next sample."""
    whole = paused(1 / RATE)
    late = len(whole) // 2 + 31  # of the way back, which is that far from where the way there ends
    kept = np.r_[0 : len(whole) // 2, late : len(whole)]
    put = Recording.from_arrays(
        np.arange(len(kept)) / RATE, ('left', 'right'), whole.positions[kept], whole.efforts[kept]
    )
    found = {each.kind: each for each in examined(put).quality.defects if each.count}
    assert set(found) == {'jump', 'pause'}
    assert found['jump'].where[0][0] == pytest.approx(SECONDS)
    assert 'motions put together?' in found['jump'].line()
    result = identify(put, slider_model, method='filter')
    assert verdict_of(result).error < 1.2 * verdict_of(identify(whole, slider_model)).error


def test_motions_as_they_are_have_no_jumps(paused):
    """Nor a motion that begins at once, nor one that few digits make stairs of."""
    whole = paused(1 / RATE)
    stairs = np.round(whole.positions, 3)
    sudden = whole.positions.copy()
    sudden[: len(sudden) // 2] = sudden[len(sudden) // 2 - 1]
    for positions in (whole.positions, stairs, sudden):
        changed = Recording.from_arrays(whole.time, ('left', 'right'), positions, whole.efforts)
        assert not any(each.kind == 'jump' for each in examined(changed).quality.defects)
