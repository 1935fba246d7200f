"""Which bounds may change while the controller runs, and when."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from pkm_control.control_types import ControllerOptions, OptionsError
from pkm_control.safeguards.allowed_errors import ErrorBounds
from pkm_dynamics.array_types import Floats

# Larger values of these let the robot do more. A stop time is neither: longer stops go farther,
# shorter ones ask for more force.
LOOSER_IF_LARGER = ('stroke_tolerance', 'overspeed')
ERRORS = ('max_position_error', 'fault_position_error')  # 0 stands for bounds of the joints
TUNABLE = (*ERRORS, *LOOSER_IF_LARGER, 'stop_time')


def check_at_any_time(old: ControllerOptions, new: ControllerOptions, moving: bool) -> None:
    """Raise OptionsError where a change of bounds is not allowed now.

    Others than `TUNABLE` never change. In a motion bounds only become tighter: its check and
    whoever watches it rely on them.
    """
    for field in fields(ControllerOptions):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if before == after:
            continue
        if field.name not in TUNABLE:
            raise OptionsError(f'{field.name}: cannot change while the controller runs')
        if field.name in ERRORS:
            continue
        if moving and (field.name not in LOOSER_IF_LARGER or after > before):
            raise _only_at_rest(field.name, before, after)


def check_tighter(old: ErrorBounds, new: ErrorBounds) -> None:
    """Raise OptionsError where a position error becomes allowed that was not."""
    for name, before, after in zip(ERRORS, old, new, strict=True):
        if (after > before).any():
            axis = int(np.argmax(after - before))
            raise _only_at_rest(name, before[axis], after[axis])


def _only_at_rest(name: str, before: float, after: float) -> OptionsError:
    return OptionsError(
        f'{name}: {after:g} instead of {before:g} only at rest; '
        'in a motion bounds become tighter alone'
    )


def check_errors(new: ErrorBounds, joints: list[str], errors: Floats) -> None:
    """Raise OptionsError where position errors (n_a,) [m, rad] lie beyond a new bound.

    The robot would stop at once for nothing that has happened to it.
    """
    worst = int(np.argmax(np.abs(errors) / new.largest))
    size = float(abs(errors[worst]))
    if size > new.largest[worst]:
        raise OptionsError(
            f'max_position_error: {new.largest[worst]:g} is less than the error {size:.4g} '
            f'of {joints[worst]} now'
        )
