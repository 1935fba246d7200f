"""Two runs side by side: verdicts, errors and parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pkm_bringup.reports.page_blocks import Block, Lines, Missing, Pictures, Section, TableBlock
from pkm_bringup.reports.report_run import Run
from pkm_bringup.reports.svg import BLUE, INK, drawn
from pkm_bringup.views.console import Table
from pkm_description.drives import terms_of
from pkm_dynamics.drive_forces import drive_constants
from pkm_identification.result.verdict import verdict_of

# Constants of drives, and how the parameters are called that mean another force with another one
SHAPED_BY = {'ripple_period': 'ripple_', 'rest': 'stiffness'}
FAR = 3.0  # standard deviations of a difference


def comparison_values(first: Run, second: Run) -> list[dict[str, Any]]:
    """Return both estimates of each parameter, and their difference in its standard deviations.

    The estimates are taken as independent; None where one of the runs lacks the parameter, where
    it stands for something else (waves of another period), or where nothing is uncertain.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, run in enumerate((first, second), start=1):
        if run.result is None:
            continue
        result = run.result
        rows = zip(
            *(result.names, result.values.tolist(), result.standard_deviation.tolist()),
            *(result.units, result.expressions),
            strict=True,
        )
        for name, value, deviation, unit, expression in rows:
            entry = found.setdefault(name, {'name': name, 'unit': unit, 'expression': expression})
            entry |= {f'value_{number}': value, f'standard_deviation_{number}': deviation}
    other = _of_other_terms(first, second)
    for name, entry in found.items():
        entry['deviations'] = None if name.startswith(other) else _apart(entry)
    return list(found.values())


def _of_other_terms(first: Run, second: Run) -> tuple[str, ...]:
    """Beginnings of names that stand for other things: waves of another period, say."""
    if first.result is None or second.result is None:
        return ()
    constants = [
        drive_constants({name: terms_of(given, name) for name, given in each.drive_terms.items()})
        for each in (first.result, second.result)
    ]
    return tuple(
        f'{joint}.{parameters}'
        for joint in first.result.joint_names
        for constant, parameters in SHAPED_BY.items()
        if (name := f'{joint}.{constant}') in constants[0].keys() & constants[1].keys()
        and constants[0][name] != constants[1][name]
    )


def _apart(entry: dict[str, Any]) -> float | None:
    if not {'value_1', 'value_2'} <= entry.keys():
        return None
    spread = math.hypot(entry['standard_deviation_1'], entry['standard_deviation_2'])
    if not 0.0 < spread < math.inf:
        return None
    return float((entry['value_2'] - entry['value_1']) / spread)


def comparison_section(first: Run, second: Run) -> Section:
    """Return what differs between two runs."""
    key, heading = 'comparison', 'What differs'
    blocks: list[Block] = [TableBlock(_figures(first, second), 'Both runs in one table.')]
    rows = comparison_values(first, second)
    both = [row for row in rows if row['deviations'] is not None]
    if not both:
        what = 'There are no two models with parameters of the same names to compare.'
        return Section(key, heading, (*blocks, Missing(what)))
    far = [row['name'] for row in both if abs(row['deviations']) > FAR]
    text = f'{len(far)} of {len(both)} parameters differ by more than {FAR:g} standard deviations'
    blocks.append(Lines((f'{text}: {", ".join(far)}' if far else text,)))
    blocks.append(
        Pictures(
            (_picture(both),),
            'Second less first estimate, in standard deviations of the difference; dotted: '
            f'{FAR:g}.',
            is_wide=True,
        )
    )
    header = ('parameter', first.name, 'sd', second.name, 'sd', 'apart [sd]', 'unit', 'stands for')
    keys = ('value_1', 'standard_deviation_1', 'value_2', 'standard_deviation_2', 'deviations')
    table = [
        [row['name'], *map(row.get, keys), row['unit']]
        + ['' if row['expression'] == row['name'] else row['expression']]
        for row in rows
    ]
    blocks.append(TableBlock(Table(header, table), 'Parameters of both.'))
    return Section(key, heading, tuple(blocks))


def _figures(first: Run, second: Run) -> Table:
    columns = [_figures_of(run) for run in (first, second)]
    rows = [[name, *(column.get(name) for column in columns)] for name in columns[0] | columns[1]]
    return Table(('', first.name, second.name), rows)


def _figures_of(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if run.result is not None:
        verdict = verdict_of(run.result)
        found['estimator'] = run.result.estimator
        if verdict is not None:
            found['verdict'] = verdict.grade.value
            found['RMS error of held-out forces [%]'] = 100 * verdict.error
            if verdict.noise is not None:
                found['from noise alone [%]'] = 100 * verdict.noise
            found['limited by'] = verdict.limit.value
    if run.identified is not None:
        known = run.identified.identifiability
        found['parameters'] = len(known.names)
        found['properly identified'] = known.count
        found['physical'] = run.identified.result.is_physical
    for each in run.predictions[:1]:
        found['predicted'] = each.recording.name
        error = each.validation.against_measured.overall
        found['relative absolute error, eps_RA [%]'] = 100 * error
    for runs in run.tracked[:1]:
        found['least tracking error [mm, mrad]'] = 1e3 * min(each.overall for each in runs)
    return found


def _picture(rows: list[dict[str, Any]]) -> str:
    label = f'differences of {len(rows)} parameters in standard deviations'
    with drawn(label, 0.8 + 0.17 * len(rows), width=4.6) as (figure, svg):
        axis = figure.subplots()
        place = np.arange(len(rows))[::-1]
        axis.plot([row['deviations'] for row in rows], place, 'o', color=BLUE, markersize=4.5)
        axis.axvline(0.0, color=INK, lw=0.8)
        for end in (-FAR, FAR):
            axis.axvline(end, color=INK, lw=0.9, ls=':')
        axis.set_yticks(place, [row['name'] for row in rows])
        axis.set_ylim(-0.7, len(rows) - 0.3)
        axis.set_xlabel('difference by its standard deviation')
        axis.grid(axis='y', alpha=0.0)
    return svg[0]
