"""How the data of an identification were processed and how well the model fits them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pkm_identification import IdentificationResult
from pkm_identification.estimators.set_membership.parameter_ellipsoid import EllipsoidDiagnostics
from pkm_identification.result.diagnostics import Delay

NAMED = 12  # parameters
LARGE = 4.0  # residual variance over that of the noise
CAUSES = (
    'the model, joint names, units, signs, or the delay of the forces do not fit; the standard '
    'deviations are widened to match'
)


def processing_lines(result: IdentificationResult) -> list[str]:
    """Return one line a recording: its samples, and the periods or the filter."""
    lines = []
    recordings = result.diagnostics.data
    for number, each in enumerate(recordings):
        how, checked = each.signals, each.quality
        of = f' {number + 1}' if len(recordings) > 1 else ''
        start = f'data{of}:' if not checked else f'data{of}: {checked["samples"]} samples,'
        delay = '' if each.delay is None else f'; {_delay(each.delay)}'
        lines.append(f'{start} {_periodic(how) if "periods" in how else _filtered(how)}{delay}')
    return lines


def _periodic(how: Mapping[str, Any]) -> str:
    skipped = how.get('skipped_periods', 0)
    left_out = f', {skipped} before them left out as settling' if skipped else ''
    return (
        f'mean of {how["periods"]} periods of {how["period"]:.7g} s ({how["period_source"]})'
        f'{left_out}; {how["kept_harmonics"]} harmonics of the motion'
    )


def _filtered(how: Mapping[str, Any]) -> str:
    kind = 'local cubics' if how.get('method') == 'local_cubic' else 'filtered'
    return f'no period, {kind} with a cutoff of {how["cutoff"]:.4g} Hz'


def _delay(found: Delay) -> str:
    return f'efforts {1e3 * found.value:.4g} +- {1e3 * found.standard_deviation:.2g} ms later'


def fit_verdict(result: IdentificationResult) -> str:
    """Return in one sentence whether noise explains the residuals; '' where nothing is known."""
    fit = result.diagnostics.fit
    ratio = None if fit is None else fit.residual_variance_ratio
    is_set = result.guaranteed is not None  # the centre of a set is no best fit
    if is_set or ratio is None or not math.isfinite(ratio) or ratio <= LARGE:
        return ''
    return f'the residuals are {math.sqrt(ratio):.3g} times as large as noise explains: {CAUSES}'


def not_determined(result: IdentificationResult) -> str:
    """Name the parameters that the data do not determine; '' where there is none."""
    names = result.diagnostics.parameters.undetermined
    if not names:
        return ''
    more = f' and {len(names) - NAMED} more' if len(names) > NAMED else ''
    return f'not determined by these data (infinite variance): {", ".join(names[:NAMED])}{more}'


def interval_heading(result: IdentificationResult, level: float) -> str:
    """Return what the intervals of the parameters are."""
    if result.guaranteed is None:
        return f'{100 * level:g} %'
    outliers = result.diagnostics.own_as(EllipsoidDiagnostics).outliers
    return 'set' if outliers else 'guaranteed'
