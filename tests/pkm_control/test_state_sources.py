"""One source of the joint states, or several."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_control.safeguards.state_sources import MEMORY, TAKES_OVER, StateSources

STEP = 1e-3  # [s] between messages


def heard(numbers, sources=None, step=STEP, start=0.0):
    """Which messages were used, and after which one two sources were there first."""
    sources = sources or StateSources()
    used, first = [], None
    for k, number in enumerate(numbers):
        now = start + k * step
        used.append(sources.hear(number, now))
        if first is None and sources.several(now):
            first = k
    return used, first


def interleaved(counts, offsets, every):
    """Numbers, and the source of each, of sources that send every so many of the first's."""
    order = sorted((k * every[i], i, offsets[i] + k) for i in range(2) for k in range(counts[i]))
    return [number for _, _, number in order], [source for _, source, _ in order]


def test_one_source_is_one_whatever_it_loses_and_when_it_restarts() -> None:
    random = np.random.default_rng(1)
    kept = [n for n in range(1, 4000) if random.random() > 0.3]
    stalled = [n for n in range(1, 3000) if n % 500 > 120]  # 121 in a row are lost
    for numbers in (range(1, 3000), kept, stalled):
        assert heard(numbers) == ([True] * len(numbers), None)
    used, first = heard([*range(1, 500), *range(1, 3000)])
    assert first is None
    assert used == [True] * 499 + [False] * (TAKES_OVER - 1) + [True] * (2999 - TAKES_OVER + 1)


@pytest.mark.parametrize(
    ('offset', 'every'),
    [(1, 1), (700, 1), (250, 1), (1, 4), (5000, 4), (230, 300), (90000, 7), (5000, 0.25)],
)
def test_two_sources_are_noticed_at_once_and_the_first_one_is_used(offset, every) -> None:
    alone = list(range(1, 200))
    both, of = interleaved((800, max(int(600 / every), 2)), (200, offset), (1, every))
    used, first = heard([*alone, *both])
    begins = len(alone) + of.index(1)
    assert first is not None and begins < first <= begins + 8
    settled = first - len(alone)
    until = settled + int(0.5 * MEMORY / STEP)
    assert used[: len(alone)] == [True] * len(alone)
    wrong = [use != (source == 0) for use, source in zip(used[len(alone) :], of, strict=True)]
    assert not any(wrong[settled:until])
    assert sum(wrong[:settled]) <= 5  # before the second source is known as such


@pytest.mark.parametrize(('offset', 'every'), [(200, 1), (200, 2), (210, 300), (203, 0.25)])
def test_two_sources_with_like_numbers_are_noticed_when_their_numbers_part(offset, every) -> None:
    both, _ = interleaved((800, max(int(600 / every), 2)), (200, offset), (1, every))
    _, first = heard([*range(1, 200), *both])
    assert first is not None and first < 199 + 310


def test_a_source_that_has_gone_is_forgotten() -> None:
    sources = StateSources()
    both, _ = interleaved((50, 50), (1, 400), (1, 1))
    heard(both, sources)
    now = len(both) * STEP
    assert sources.several(now) and not sources.several(now + MEMORY)
    used, first = heard(range(450, 460), sources, start=now + MEMORY)  # the other one stays
    assert first is None and all(used)


def test_without_numbers_all_messages_are_used() -> None:
    assert heard([None] * 20) == ([True] * 20, None)
