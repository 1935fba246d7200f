"""What a search found, in quantities of the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtri, ndtri

from pkm_identification.arrays import Array
from pkm_identification.monitoring.causes import Cause, Kind
from pkm_identification.monitoring.change_search import Detection, Search
from pkm_identification.monitoring.contrast import Contrast, Evidence
from pkm_identification.monitoring.shape_in_time import Course, ShapeInTime, shape_in_time
from pkm_identification.monitoring.watched_parameters import WatchedParameters

SEEN = 0.95  # chance that a change of the stated least size is found in one recording
LEAST_FRICTION = 3.0  # standard deviations that friction must be known by, to be divided by it


@dataclass(frozen=True)
class Quantity:
    """What a change is measured by: weights (d,) of its amounts, and the unit of their sum."""

    weights: Array
    unit: str  # 1 for relative ones


@dataclass(frozen=True)
class Track:
    """One quantity over all recordings, reference first: values and deviations (n,)."""

    cause: Cause
    unit: str
    values: Array
    deviations: Array
    least_seen: float  # that one recording shows with a chance of 95 %


@dataclass(frozen=True)
class Finding:
    """A change of the robot."""

    detection: Detection
    unit: str
    shape: ShapeInTime  # recordings counted after the reference
    amounts: Array  # (d,) as they are now, or were
    covariance: Array  # (d, d)
    rivals: tuple[Cause, ...] = ()  # which explain the recordings as well, or nearly so


@dataclass(frozen=True)
class Findings:
    """All that a series shows."""

    changes: tuple[Finding, ...]  # to be looked at
    notices: tuple[Finding, ...]  # friction of all drives together
    tracks: tuple[Track, ...]
    tests: int


def quantity_of(cause: Cause, watched: WatchedParameters, speeds: Array) -> Quantity:
    """What a change is measured by; `speeds` (n_a,) are those that friction is told at."""
    model = watched.model
    if cause.kind == Kind.PAYLOAD:
        return Quantity(np.array([float(name == 'm') for name in cause.names]), 'kg')
    if cause.kind == Kind.FORCE_CONSTANT:
        return Quantity(np.ones(1), '1')
    drives = list(model.actuated_joints)
    if cause.kind in (Kind.ENCODER, Kind.ROTOR):
        turns = model.description.joint(cause.joint).type in ('revolute', 'continuous')
        units = ('rad', 'm') if cause.kind == Kind.ENCODER else ('kg m^2', 'kg')
        return Quantity(np.ones(1), units[0 if turns else 1])
    standard = dict(zip(model.parameter_names, watched.standard_values.tolist(), strict=True))
    if cause.kind == Kind.COMMON_FRICTION:
        standard = dict(zip(model.parameter_names, model.nominal_parameters.tolist(), strict=True))
        sizes = [
            sum(
                standard.get(f'{joint}.{name}', 0.0) * _share(name, speed)
                for joint, speed in zip(drives, speeds.tolist(), strict=True)
            )
            for name in cause.names
        ]
        return Quantity(np.array(sizes) / sum(sizes), '1')
    speed = float(speeds[drives.index(cause.joint)]) if cause.joint in drives else 0.0
    weights = np.array([_share(name, speed) for name in cause.names])
    if not weights.any():
        weights[:] = 1.0
    parts = zip(weights, cause.names, strict=True)
    force = sum(w * standard.get(f'{cause.joint}.{name}', 0.0) for w, name in parts)
    if force > 0.0:
        return Quantity(weights / force, '1')
    linear = model.description.joint(cause.joint).type == 'prismatic'
    return Quantity(weights, 'N' if linear else 'N m')


def _share(name: str, speed: float) -> float:
    """Part of a friction parameter in the force at a speed, mean of both directions."""
    if name == 'viscous':
        return speed
    return 1.0 if name == 'coulomb' else 0.5


def findings(
    search: Search,
    watched: WatchedParameters,
    references: Sequence[Evidence],
    series: Sequence[Evidence],
    speeds: Array,
    report: Callable[[float], object] = lambda fraction: None,
) -> Findings:
    """Search a series after its reference, and measure what is found.

    `references` are the recordings that it is compared with; none where that is a model.
    """
    detections = search.detections(series, report)
    known = [each.cause for each in detections]
    level = search.level(len(series))
    contrasts = [search.contrast(each) for each in series]
    before = []
    if references:
        whole = Evidence.of(references)
        before = [
            Contrast.between(whole.without(each), each).along(search.space.directions)
            for each in references
        ]
    tracks, shapes = [], {}
    for place, cause in enumerate(search.causes):
        quantity = quantity_of(cause, watched, speeds)
        values, deviations = np.full((2, len(before) + len(series)), np.nan)
        for number, contrast in enumerate((*before, *contrasts)):
            fit = search.fit(contrast, cause, known if number >= len(before) else ())
            if fit.told[quantity.weights != 0].all():
                values[number] = quantity.weights @ fit.values
                variance = float(quantity.weights @ fit.covariance @ quantity.weights)
                deviations[number] = max(variance, 0.0) ** 0.5
        typical = np.nanmedian(deviations) if np.isfinite(deviations).any() else np.nan
        # one amount of several is seen as well as it is told from the others
        spread, count = search.spreads[place], len(cause.names)
        reach = np.sqrt(count * fdtri(count, spread.freedom, 1 - level)) + ndtri(SEEN)
        tracks.append(Track(cause, quantity.unit, values, deviations, float(typical * reach)))
        if cause.kind == Kind.FORCE_CONSTANT:  # told forces fall as 1 / (1 + e), not as 1 - e
            deviations = deviations / (1 - values) ** 2
            values = values / (1 - values)
            tracks[-1] = replace(tracks[-1], values=values, deviations=deviations)
        shapes[cause.key] = shape_in_time(values[len(before) :], deviations[len(before) :])
    found = [
        _finding(search, each, known, shapes[each.cause.key], series, tracks) for each in detections
    ]
    is_notice = [each.detection.cause.kind == Kind.COMMON_FRICTION for each in found]
    return Findings(
        tuple(each for each, notice in zip(found, is_notice, strict=True) if not notice),
        tuple(each for each, notice in zip(found, is_notice, strict=True) if notice),
        tuple(tracks),
        search.tests(len(series)),
    )


def _finding(
    search: Search,
    detection: Detection,
    known: Sequence[Cause],
    shape: ShapeInTime,
    series: Sequence[Evidence],
    tracks: Sequence[Track],
) -> Finding:
    """Measure a change over the recordings that show it as it is now."""
    first = shape.first if shape.course != Course.GROWTH else shape.last
    others = [each for each in known if each.key != detection.cause.key]
    window = Evidence.of(search.beyond(each, others) for each in series[first : shape.last + 1])
    fit = search.fit(search.contrast(window), detection.cause, known)
    unit = next(each.unit for each in tracks if each.cause.key == detection.cause.key)
    rivals = search.rivals(window, detection.cause, known)
    return Finding(detection, unit, shape, fit.values, fit.covariance, rivals)
