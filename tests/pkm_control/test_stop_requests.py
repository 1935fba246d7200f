"""Several publishers of protective stops: the word of one does not take back that of another."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

from pkm_control.safeguards.stop_requests import MEMORY, StopRequests


def test_the_false_of_another_publisher_takes_nothing_back() -> None:
    requests = StopRequests()
    for number in range(50, 60):
        requests.hear(number, False, 0.0)
    requests.hear(1, True, 0.0)
    for number in range(60, 80):
        requests.hear(number, False, 0.1)
        assert requests.open
    requests.hear(2, False, 0.2)
    assert not requests.open


@pytest.mark.parametrize('first', [1, 2])
def test_with_equal_numbers_a_request_stays_until_both_have_taken_it_back(first: int) -> None:
    requests = StopRequests()
    requests.hear(first, True, 0.0)
    requests.hear(first, False, 0.0)
    assert not requests.abandoned(2, 0.1 + MEMORY)
    requests.hear(first + 1, False, 0.0)  # of whom?
    assert requests.open
    # people may reset it; who asks again has not taken it back
    assert requests.abandoned(2, 0.1 + MEMORY)
    again = copy.deepcopy(requests)
    again.hear(first + 1, True, 0.0)
    assert again.open and not again.abandoned(2, 0.1 + MEMORY)
    requests.hear(first + 1, False, 0.0)
    assert not requests.open


def test_no_order_of_messages_takes_a_request_back_too_soon() -> None:
    """Against the true publishers, which the requests do not know; all heard from their first."""
    random = np.random.default_rng(7)
    released = 0
    for _ in range(300):
        numbers = np.ones(3, dtype=int)
        said = [False] * 3
        requests = StopRequests()
        for who in random.integers(0, 3, 12).tolist():
            said[who] = bool(random.random() < 0.3)
            requests.hear(int(numbers[who]), said[who], 0.0)
            numbers[who] += 1
            assert requests.open or not any(said)
        for who in itertools.chain(range(3), range(3)):
            requests.hear(int(numbers[who]), False, 0.0)
            numbers[who] += 1
        released += not requests.open
    assert released > 250  # and mostly not too late


def test_a_request_whose_publisher_is_gone_may_be_reset() -> None:
    requests = StopRequests()
    requests.hear(9, False, 0.0)
    requests.hear(1, True, 1.0)
    assert not requests.abandoned(2, 1.1)
    assert not requests.abandoned(1, 1.1)  # the one that is left may be the one that asks
    requests.hear(10, False, 1.2)
    assert requests.abandoned(1, 1.3) and requests.open
    assert not requests.abandoned(1, 1.2 + MEMORY)
    assert requests.abandoned(0, 100.0)
    requests.clear()
    assert not requests.open


def test_a_reset_forgets_nobody_who_asks_for_nothing() -> None:
    requests = StopRequests()
    requests.hear(50, False, 0.0)
    requests.clear()
    requests.hear(50, True, 1.0)  # of another one
    requests.hear(51, False, 1.1)  # of the first one
    assert requests.open


def test_without_numbers_the_last_word_counts() -> None:
    requests = StopRequests()
    requests.hear(None, True, 0.0)
    assert requests.open
    requests.hear(None, False, 0.0)
    assert not requests.open


def test_few_idle_publishers_are_remembered_and_all_that_ask() -> None:
    requests = StopRequests()
    for number in range(1, 3001, 10):
        requests.hear(number, number == 1, 0.0)
    assert requests.open and len(requests._sources) < 110
