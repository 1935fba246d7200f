"""Force ripple in the residuals of a fit: its period, harmonics and significance.

A ripple is periodic in the position of its drive, not in time. For each wave number k the
cosine and sine of 2 pi k q(t) pass the band that the residuals passed, and the F statistic of the
two is a periodogram over position: that of Lomb and Scargle with columns that went the way
of the data. Residuals are coloured, so both are divided by the smoothed spectrum of the
residuals first; what the model's own columns can take is projected out.

Under the null the statistic is chi-square with two degrees of freedom at each wave number. The
chance of so high a maximum anywhere is bounded by Davies [Biometrika 74, 1987, eq. 3.4] from
the total variation of its root along the wave numbers, which needs no count of independent ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import fdtrc

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.model_selection.ripple_rows import RippleRows, of_axis
from pkm_identification.regression.problem import Problem
from pkm_identification.signals.bands import Band

OVERSAMPLING = 5.0  # wave numbers in the width of a peak, one over the travel
MOST_WAVES = 4000  # wave numbers of a search
AT_ONCE = 8  # whose columns are filtered together
LEAST_TURNS = 1.5  # periods within the travel: with fewer a ripple is no other than a spring
# Share of the power of a ripple that a longer period must add: with many rows an F test takes the
# faintest trace of other errors of the model for a fundamental below the peak.
LEAST_GAIN = 0.1
WORTH = 0.1  # chance of a peak above which its harmonics are not looked for
SIGNIFICANT = 0.01  # of the F test that takes a further harmonic, over the number of tests


@dataclass(frozen=True)
class FoundRipple:
    """The most significant force ripple of a drive."""

    period: float  # [m, rad]
    period_deviation: float  # standard deviation [m, rad]
    harmonics: tuple[int, ...]
    cosine: Array  # (h,) [N, N m]; as parameters of the model: force that the drive needs
    sine: Array  # (h,)
    deviations: Array  # (2 h,) standard deviations of the cosines and sines
    p_value: float  # chance of so high a peak anywhere where there is no ripple; a bound
    share: float  # of the power of the residuals that it takes, fitted with the known columns

    @property
    def amplitudes(self) -> Array:
        """Amplitudes (h,) [N, N m] of the harmonics."""
        return np.hypot(self.cosine, self.sine)

    def section(self) -> dict[str, Any]:
        """Return the terms of the drive as `with_drive_terms` takes them, values at zero."""
        return {'ripple': {'period': self.period, 'harmonics': list(self.harmonics)}}


def find_ripple(
    positions: ArrayLike,
    residuals: ArrayLike,
    *,
    band: Band | None = None,
    known: ArrayLike | None = None,
    shortest: float | None = None,
    longest: float | None = None,
    harmonics: int = 3,
) -> FoundRipple:
    """Find the ripple of one drive in what a model leaves of its forces.

    Parameters
    ----------
    positions
        Of the drive (n,) [m, rad], evenly sampled.
    residuals
        Measured less predicted forces [N, N m]: (n,) at these samples, or with a `band` the
        rows (m,) that it makes of them.
    band
        What forces and regressor have passed: the columns of the ripple pass it too.
    known
        Columns (m, k) of the model that was fitted: what they, an offset and a spring can take
        is no ripple.
    shortest, longest
        Periods [m, rad] to search; by default from what the band passes at 0.6 of the mean
        speed to two thirds of the travel.
    harmonics
        Highest harmonic that is tried.

    Raises
    ------
    EstimationError
        The samples are too few, do not move, or do not belong together.
    """
    q, forces = np.asarray(positions, dtype=float), np.asarray(residuals, dtype=float)
    columns = np.zeros((len(forces), 0)) if known is None else np.asarray(known, dtype=float)
    run = RippleRows(q, forces, columns, band)
    return _search([run], shortest, longest, harmonics)


def find_ripples(
    problem: Problem,
    values: ArrayLike,
    *,
    shortest: float | None = None,
    longest: float | None = None,
    harmonics: int = 3,
) -> dict[str, FoundRipple]:
    """Find the ripple of each drive in the residuals of a problem for free parameters (f,).

    Several recordings count together. A joint that hardly moves is left out.
    """
    found = {}
    estimate = np.asarray(values, dtype=float)
    for axis, joint in enumerate(problem.model.actuated_joints):
        runs = [
            RippleRows(
                np.asarray(run.signals.positions[:, axis]),
                run.residuals(estimate)[:, axis],
                run.regressor[:, axis],
                of_axis(run.signals.band, axis),
            )
            for run in problem.runs
        ]
        lowest, highest = _wave_range(runs, shortest, longest)
        if highest > lowest:
            found[joint] = _search(runs, shortest, longest, harmonics)
    return found


def _wave_range(
    runs: Sequence[RippleRows], shortest: float | None, longest: float | None
) -> tuple[float, float]:
    """Lowest and highest wave number [1/m, 1/rad] of a search."""
    travel = max(float(np.ptp(run.positions)) for run in runs)
    if not travel > 0.0:
        return 1.0, 0.0
    low = LEAST_TURNS / travel if longest is None else 1.0 / longest
    passed = min(run.shortest for run in runs)
    return low, 1.0 / passed if shortest is None else 1.0 / shortest


def _search(
    runs: Sequence[RippleRows], shortest: float | None, longest: float | None, harmonics: int
) -> FoundRipple:
    low, high = _wave_range(runs, shortest, longest)
    if not high > low > 0.0:
        raise EstimationError(
            'the drive moves too little for ripple to show, or the shortest period is not below '
            'the longest'
        )
    travel = max(float(np.ptp(run.positions)) for run in runs)
    count = int(np.ceil(OVERSAMPLING * travel * (high - low))) + 2
    if count > MOST_WAVES:
        raise EstimationError(
            f'{count} wave numbers to try, at most {MOST_WAVES}: give a shortest period [m, rad]'
        )
    waves = np.linspace(low, high, count)
    statistic = np.concatenate(
        [_statistics(runs, waves[k : k + AT_ONCE]) for k in range(0, count, AT_ONCE)]
    )
    root = np.sqrt(statistic)
    variation = float(np.sum(np.abs(np.diff(root))))
    top = float(statistic.max())
    chance = min(1.0, np.exp(-0.5 * top) * (1.0 + 0.5 * variation * np.sqrt(top)))
    peak, width = float(waves[int(np.argmax(statistic))]), float(waves[1] - waves[0])
    best = _fitted(runs, peak, width, (1,))
    if chance < WORTH:
        orders = [j for j in range(1, harmonics + 1) if j == 1 or peak / j >= low]
        best = _chosen(runs, [_grown(runs, peak / j, width, j, harmonics) for j in orders])
    for run in runs:  # the spectrum of what the ripple leaves weights the last step
        run.recoloured(best.values, run.columns(_waves(best)).reshape(len(run.residuals), -1))
    return _result(runs, _fitted(runs, best.wave, width, best.harmonics), chance)


def _chosen(runs: Sequence[RippleRows], fits: Sequence[_Fit]) -> _Fit:
    """Fit of the shortest fundamental, or of a longer one that takes clearly more."""
    # where all harmonics are multiples of one the fundamental is theirs
    best, *longer = [fit for fit in fits if math.gcd(*fit.harmonics) == 1]
    total = sum(float(run.target @ run.target) for run in runs)
    for fit in longer:
        if best.cost - fit.cost > LEAST_GAIN * (total - best.cost):
            best = fit
    return best


def _statistics(runs: Sequence[RippleRows], waves: Array) -> Array:
    """Statistics (w,) of the F tests, as chi-square with two degrees of freedom."""
    gram = np.zeros((len(waves), 2, 2))
    product = np.zeros((len(waves), 2))
    for run in runs:
        columns = run.whitened(run.columns(waves))
        gram += np.einsum('mwi,mwj->wij', columns, columns)
        product += np.einsum('mwi,m->wi', columns, run.target)
    taken = np.einsum('wi,wij,wj->w', product, np.linalg.pinv(gram, hermitian=True), product)
    total, freedom = sum(float(run.target @ run.target) for run in runs), _freedom(runs) - 2
    rest = np.maximum(total - taken, 1e-12 * total)
    # (1 + 2 F / f)^(-f / 2) is the exact chance of F with 2 and f degrees of freedom
    return np.asarray(freedom * np.log(total / rest)) if total > 0.0 else np.zeros(len(waves))


def _freedom(runs: Sequence[RippleRows]) -> int:
    return sum(run.freedom for run in runs)


@dataclass(frozen=True)
class _Fit:
    """A ripple of some harmonics of one wave number."""

    wave: float
    harmonics: tuple[int, ...]
    values: Array  # (2 h,) cosine and sine of each
    cost: float  # squared whitened residuals


def _waves(fit: _Fit) -> Array:
    return fit.wave * np.array(fit.harmonics)


def _grown(runs: Sequence[RippleRows], wave: float, width: float, first: int, highest: int) -> _Fit:
    """Fit of a peak taken for a harmonic, with further ones that an F test takes."""
    fit = _fitted(runs, wave, width / first, (first,))
    for harmonic in range(1, highest + 1):
        if harmonic in fit.harmonics:
            continue
        more = _fitted(runs, fit.wave, width / first, (*fit.harmonics, harmonic))
        freedom = _freedom(runs) - 2 * len(more.harmonics) - 1
        ratio = 0.5 * (fit.cost - more.cost) / (more.cost / freedom)
        if fdtrc(2, freedom, max(ratio, 0.0)) < SIGNIFICANT / highest:
            fit = more
    return fit


def _fitted(
    runs: Sequence[RippleRows], wave: float, width: float, harmonics: tuple[int, ...]
) -> _Fit:
    """Least squares over the wave number, within a grid step, and the linear values."""
    harmonics = tuple(sorted(harmonics))

    def solved(at: float) -> tuple[Array, float]:
        blocks = [run.whitened(run.columns(at * np.array(harmonics))) for run in runs]
        design = np.concatenate([block.reshape(len(block), -1) for block in blocks])
        target = np.concatenate([run.target for run in runs])
        values = np.linalg.lstsq(design, target, rcond=None)[0]
        return values, float(np.sum((target - design @ values) ** 2))

    reach = width / max(harmonics)
    bounds = (wave - reach, wave + reach)
    options = {'xatol': 1e-4 * reach}
    best = minimize_scalar(
        lambda at: solved(at)[1], bounds=bounds, method='bounded', options=options
    )
    values, cost = solved(float(best.x))
    return _Fit(float(best.x), harmonics, values, cost)


def _result(runs: Sequence[RippleRows], fit: _Fit, chance: float) -> FoundRipple:
    """Standard deviations from the derivatives by the wave number and the linear values."""
    parts, plain = [], []
    orders = np.array(fit.harmonics)
    cosine, sine = fit.values.reshape(-1, 2).T
    for run in runs:
        rows = run.columns(_waves(fit)).reshape(len(run.residuals), -1)
        step = 1e-3 / max(float(np.ptp(run.positions)), 1e-300) / max(orders)
        ahead, behind = (run.columns((fit.wave + s) * orders) for s in (step, -step))
        slope = ((ahead - behind) / (2 * step)).reshape(len(rows), -1) @ fit.values
        parts.append(run.whitened(np.concatenate([rows, slope[:, None]], axis=1)))
        plain.append(np.concatenate([run.known, rows], axis=1))
    design = np.concatenate(parts)
    variance = fit.cost / max(_freedom(runs) - design.shape[1], 1)
    deviation = np.sqrt(variance * np.diag(np.linalg.pinv(design.T @ design, hermitian=True)))
    period = 1.0 / fit.wave
    return FoundRipple(
        period=period,
        period_deviation=float(period**2 * deviation[-1]),
        harmonics=fit.harmonics,
        cosine=cosine.copy(),
        sine=sine.copy(),
        deviations=np.concatenate([deviation[:-1:2], deviation[1:-1:2]]),
        p_value=float(chance),
        share=_share(np.concatenate(plain), 2 * len(orders), runs),
    )


def _share(design: Array, own: int, runs: Sequence[RippleRows]) -> float:
    """Share of the power that the known columns (m, k) leave which the last ones take as well."""
    target = np.concatenate([run.residuals for run in runs])
    before, after = (
        float(np.sum((target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]) ** 2))
        for columns in (design[:, : design.shape[1] - own], design)
    )
    return 1.0 - after / before if before > 0.0 else 0.0
