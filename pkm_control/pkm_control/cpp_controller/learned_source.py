"""Write what was learned of a motion as tables for the C++ of its robot."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pkm_control.learning.learned_force import Scope
from pkm_control.learning.learning_law import MotionLearning
from pkm_control.learning.watch import Expectation
from pkm_description.errors import ExportError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.cpp.cpp_sources import cpp_name
from pkm_dynamics.cpp.emitter import literal


def learned_header(model: ClosedChainModel, learning: MotionLearning) -> dict[str, str]:
    """Return the text of the header with the tables of a motion, by its name.

    `learned::table` is over the time along the motion, or a period of it; of a period there is
    `learned::lead_in` too, over the time since the robot leaves rest, with the ramps of the latest
    repetition. Raises ExportError where it was learned of another robot.
    """
    description = model.description
    for kind, here, there in (
        ('robot', description.name, learning.key.robot),
        ('description of the robot', description.digest, learning.key.description),
        ('order of drives', tuple(model.actuated_joints), learning.joints),
    ):
        if here != there:
            raise ExportError(f'what was learned is of another {kind}')
    name = cpp_name(description)
    guard = f'PKM_{name.upper()}_LEARNED_HPP'
    scale = 1.0 / np.sqrt(learning.watched_noise)
    periodic = learning.key.scope is Scope.PERIOD
    rows = table_rows(learning.force, learning.expected, scale)
    parts = [
        f"// What {len(learning.history)} repetitions of a motion of '{name}' have taught.\n",
        f'#ifndef {guard}\n#define {guard}\n\n#include "{name}_force_table.hpp"\n\n',
        f'namespace pkm::{name}::learned {{\n\n',
        _array('limit', learning.limit),
        _array('scale', scale),
        _table('table', periodic, learning.interval, rows),
    ]
    if (lead_in := learning.lead_in) is not None:
        rows = table_rows(lead_in.force, lead_in.expected, scale)
        parts.append(f'// With ramps of {literal(lead_in.ramp_time)} s.\n')
        parts.append(_table('lead_in', False, learning.interval, rows))
    parts.append(f'}}  // namespace pkm::{name}::learned\n\n#endif\n')
    return {f'{name}_learned.hpp': ''.join(parts)}


def table_rows(force: Floats, expected: Expectation, scale: Floats) -> Floats:
    """Rows (n, 4 n_a) of a table in C++: its header says what they are."""
    columns = expected.error, expected.effect, expected.alone
    return np.hstack([force, *(scale * each for each in columns)])


def _table(name: str, periodic: bool, interval: float, rows: Floats) -> str:
    values = 'true' if periodic else 'false', literal(interval), str(len(rows))
    return (
        f'{_array(f"{name}_rows", rows.ravel())}inline constexpr ForceTable {name}{{\n'
        f'    {", ".join(values)}, {name}_rows, limit, scale}};\n\n'
    )


def _array(name: str, values: Iterable[float]) -> str:
    numbers = [literal(float(each)) for each in values]
    lines = [', '.join(numbers[k : k + 4]) for k in range(0, len(numbers), 4)]
    text = ',\n    '.join(lines)
    return f'inline constexpr double {name}[] = {{\n    {text}}};\n'
