"""Verdict and tables of `pkm monitor`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkm_bringup.views.console import print_table
from pkm_identification.monitoring.causes import Kind
from pkm_identification.monitoring.findings import Finding, Track
from pkm_identification.monitoring.shape_in_time import Course
from pkm_identification.requests.monitor_request import Monitored

ADVICE = {
    Kind.PAYLOAD: 'see what is on the platform, or name it as a payload',
    Kind.FRICTION: 'look at bearings, guides and lubrication there',
    Kind.FORCE_CONSTANT: 'check the drive: magnets, temperature, amplifier scale',
    Kind.ENCODER: 'home the axis again and check its encoder',
    Kind.ROTOR: 'see what turns with the drive: couplings, brakes, another motor',
    Kind.COMMON_FRICTION: 'temperature or lubricant; compare in the same warm state',
}
WHAT = {
    Kind.PAYLOAD: 'payload',
    Kind.FRICTION: 'friction of',
    Kind.FORCE_CONSTANT: 'force constant of',
    Kind.ENCODER: 'encoder offset of',
    Kind.ROTOR: 'rotor inertia of',
    Kind.COMMON_FRICTION: 'friction of all drives together',
}
SHOWN = {'1': (100.0, '%'), 'm': (1e3, 'mm'), 'rad': (1e3, 'mrad')}  # factor and unit as printed
SURE = 1e-12  # chances below are no better known


def named(kind: Kind, joint: str) -> str:
    """Return what changed, in words."""
    return f'{WHAT[kind]} {joint}'.strip()


def amount(value: float, deviation: float, unit: str) -> str:
    """Return a quantity with its standard deviation, rounded to two digits of that."""
    factor, told = SHOWN.get(unit, (1.0, unit))
    value, deviation = factor * value, factor * deviation
    digits = 2
    if np.isfinite(deviation) and deviation > 0:
        digits = int(max(0, 1 - np.floor(np.log10(deviation))))
    return f'{value:+.{digits}f} {told} +- {deviation:.{digits}f}'


def described(finding: Finding, monitored: Monitored) -> str:
    """Return one change in a sentence: what, by how much, since when, how sure."""
    cause, shape = finding.detection.cause, finding.shape
    names = monitored.names[monitored.references :]
    text = f'{named(cause.kind, cause.joint)} {amount(shape.value, shape.deviation, finding.unit)}'
    if cause.kind == Kind.PAYLOAD:
        text += _centre(finding)
    if finding.rivals:
        text += f' (or {" or ".join(named(each.kind, each.joint) for each in finding.rivals)})'
    if shape.course == Course.PASSING:
        text += f', from {names[shape.first]} to {names[shape.last]}, gone now'
    elif shape.course == Course.GROWTH:
        each = amount(shape.slope, shape.slope_deviation, finding.unit)
        text += f', growing since {names[shape.first]} ({each} a {monitored.compared})'
    else:
        text += f', since {names[shape.first]}'
    return f'{text}; chance in a healthy folder {max(finding.detection.chance, SURE):.1g}'


def _centre(finding: Finding) -> str:
    """Centre of mass of a payload, in the platform's frame [mm], with its deviations."""
    names, values = finding.detection.cause.names, finding.amounts
    deviations = np.sqrt(np.diag(finding.covariance))
    if (
        names != ('m', 'mx', 'my', 'mz')
        or not deviations.all()
        or abs(values[0]) < 2 * np.sqrt(finding.covariance[0, 0])
    ):
        return ''
    centre = values[1:] / values[0]
    change = np.column_stack([-centre, np.eye(3)]) / values[0]
    deviation = np.sqrt(np.diag(change @ finding.covariance @ change.T))
    parts = (f'{1e3 * c:.0f} +- {1e3 * s:.0f}' for c, s in zip(centre, deviation, strict=True))
    return f' with its centre at ({", ".join(parts)}) mm'


def verdict(monitored: Monitored) -> str:
    """Return the verdict in one sentence."""
    found = monitored.findings
    count = len(monitored.names) - monitored.references
    against = f'{count} {monitored.compared}s against the first {monitored.references}'
    if monitored.model_file:
        against = f"{count} {monitored.compared}s against the model '{monitored.model_file}'"
    parts = [described(each, monitored) for each in (*found.changes, *found.notices)]
    if found.changes:
        advice = dict.fromkeys(ADVICE[each.detection.cause.kind] for each in found.changes)
        return f'changed: {" | ".join(parts)} -> {"; ".join(advice)}'
    if found.notices:
        return (
            f'healthy: no single part changed over {against}, but {parts[0]} -> '
            f'{ADVICE[Kind.COMMON_FRICTION]}'
        )
    return f'healthy: nothing changed over {against}'


def print_monitored(monitored: Monitored) -> None:
    """Print the verdict, what would have been seen, and the changes over time."""
    print(verdict(monitored))
    found = monitored.findings
    print(
        f'robot {monitored.robot}; chance of any alarm in a healthy folder: at most '
        f'{100 * monitored.false_alarms:g} % ({found.tests} tests)'
    )
    if monitored.by_file_time:
        print(
            f'{monitored.by_file_time} recordings do not say when they were made: they are in the '
            "order of their files' times"
        )
    for each in monitored.left_out:
        print(f'left out: {each.name}: {each.reason}')
    print()
    rows = [[named(*key), text] for key, text in _least(found.tracks)]
    print_table(('change', f'seen in one {monitored.compared} with a chance of 95 %'), rows)
    tracks = _told(monitored)
    header = [monitored.compared, 'time', *(named(t.cause.kind, t.cause.joint) for t in tracks)]
    rows = []
    for number, name in enumerate(monitored.names):
        values = (amount(t.values[number], t.deviations[number], t.unit) for t in tracks)
        mark = '  (reference)' if number < monitored.references else ''
        rows.append([name + mark, monitored.times[number], *values])
    print()
    print_table(header, rows)


def _told(monitored: Monitored) -> list[Track]:
    """Tracks that a table shows: of what changed, else payload and friction of all drives."""
    found = monitored.findings
    keys = {each.detection.cause.key for each in (*found.changes, *found.notices)}
    usual = (Kind.PAYLOAD, Kind.COMMON_FRICTION)
    return [t for t in found.tracks if t.cause.key in keys or (not keys and t.cause.kind in usual)]


def _least(tracks: tuple[Track, ...]) -> list[tuple[tuple[Kind, str], str]]:
    """Smallest changes that one recording shows, from the best axis to the worst."""
    found = []
    for group in dict.fromkeys(track.cause.group for track in tracks):
        own = [t for t in tracks if t.cause.group == group and np.isfinite(t.least_seen)]
        if not own:
            continue
        sizes, (factor, unit) = (
            sorted(t.least_seen for t in own),
            SHOWN.get(own[0].unit, (1.0, own[0].unit)),
        )
        text = f'{factor * sizes[0]:.2g} {unit}'
        if len(own) > 1:
            text = f'{factor * sizes[0]:.2g} to {factor * sizes[-1]:.2g} {unit}'
        kind = own[0].cause.kind
        where = {'friction of drives': 'a drive', 'friction of passive joints': 'a passive joint'}
        joint = where.get(group, '' if not own[0].cause.joint else 'a drive')
        found.append(((kind, joint), text))
    return found


def monitor_summary(monitored: Monitored) -> dict[str, Any]:
    """Return plain values, in SI units."""
    found = monitored.findings
    names = monitored.names[monitored.references :]

    def plain(each: Finding) -> dict[str, Any]:
        cause, shape = each.detection.cause, each.shape
        return {
            'kind': cause.kind.value,
            'joint': cause.joint,
            'unit': each.unit,
            'value': shape.value,
            'standard_deviation': shape.deviation,
            'rivals': [{'kind': x.kind.value, 'joint': x.joint} for x in each.rivals],
            'course': shape.course.value,
            'since': names[shape.first],
            'until': names[shape.last],
            'slope': shape.slope,
            'slope_standard_deviation': shape.slope_deviation,
            'found_at': names[each.detection.recording],
            'window': each.detection.window,
            'chance': each.detection.chance,
            'amounts': dict(zip(cause.names, each.amounts.tolist(), strict=True)),
            'covariance': each.covariance,
            'advice': ADVICE[cause.kind],
        }

    return {
        'verdict': 'changed' if found.changes else 'healthy',
        'sentence': verdict(monitored),
        'robot': monitored.robot,
        'changes': [plain(each) for each in found.changes],
        'notices': [plain(each) for each in found.notices],
        'false_alarms': monitored.false_alarms,
        'tests': found.tests,
        'references': monitored.references,
        'model': monitored.model_file,
        'recordings': monitored.names,
        'times': monitored.times,
        'left_out': {each.name: each.reason for each in monitored.left_out},
        'joints': monitored.joint_names,
        'residual_rms': monitored.residual_rms,
        'tracks': [
            {
                'kind': t.cause.kind.value,
                'joint': t.cause.joint,
                'unit': t.unit,
                'values': t.values,
                'standard_deviations': t.deviations,
                'least_seen': t.least_seen,
            }
            for t in found.tracks
        ],
    }
