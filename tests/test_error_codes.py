"""The page of error codes: every code of every interface, once, as the code means it."""

from __future__ import annotations

from collections import Counter

import pytest
import write_error_codes as writer

from pkm_bringup.cli import main
from pkm_bringup.exit_status import ExitStatus
from pkm_control.control_types import ErrorCode
from pkm_identification.requests.refusal import Code as RefusalCode


def test_the_page_is_current() -> None:
    assert writer.PAGE.read_text(encoding='utf-8') == writer.page(), (
        'python scripts/write_error_codes.py writes it anew'
    )


def test_a_number_means_one_thing() -> None:
    numbers = Counter(code.number for code in writer.codes() if code.number != writer.SUCCESS)
    assert [number for number, count in numbers.items() if count > 1] == []


def test_no_text_is_left_over() -> None:
    codes = writer.codes()
    used = {code.name for code in codes} | {f'{code.interface}.{code.name}' for code in codes}
    assert set(writer.TEXTS) <= used


def test_a_code_without_a_text_is_named() -> None:
    with pytest.raises(SystemExit, match='Excite: the code NEW_ONE has no text'):
        _ = writer.Code(299, 'NEW_ONE', 'Excite').text


def test_generated_messages_agree() -> None:
    pytest.importorskip('rclpy')
    from pkm_msgs import action, srv

    for code in writer.codes():
        interface = getattr(action, code.interface, None) or getattr(srv, code.interface)
        holder = getattr(interface, 'Result', None) or interface.Response
        assert getattr(holder, code.name) == code.number


def test_codes_of_the_libraries_are_codes_of_interfaces() -> None:
    of_controller = {
        code.name: code.number
        for code in writer.codes()
        if code.interface == 'FollowPlatformTrajectory'
    }
    assert of_controller == {code.name: int(code) for code in ErrorCode}
    assert {code.name for code in RefusalCode} <= {code.name for code in writer.codes()}


@pytest.mark.parametrize(
    ('words', 'status'),
    [
        (['robots'], ExitStatus.SUCCESS),
        (['describe', 'no_such_robot'], ExitStatus.ERROR),
        (['no_such_verb'], ExitStatus.USAGE),
        (['robots', '--no-such-option'], ExitStatus.USAGE),
    ],
)
def test_exit_status(words: list[str], status: ExitStatus) -> None:
    assert main(words) == status
