"""Claims of [M]: physical feasibility, friction and identifiability of a 3-RPS."""

from __future__ import annotations

from claim import Claim, Content, Judgement, percent


def _physical(content: Content) -> Judgement:
    found = content['friction']
    free, feasible = found['gauss_markov'], found['feasible']
    figures = (
        f'physical: {percent(free["physical"])} without limits, {percent(feasible["physical"])} '
        'with them; error of forces with limits '
        f'{percent(found["error_ratio"]["median"] - 1)} larger'
    )
    return Judgement(figures, [free['physical'] < 1, feasible['physical'] == 1])


def _friction(content: Content) -> Judgement:
    found = content['friction']
    errors = {
        name: found[name]['error_measured'] for name in ('gauss_markov', 'feasible', 'stribeck')
    }
    exact = found['stribeck']['error_lower_least']
    measured = found['stribeck']['error_measured_lower_least']
    figures = (
        'eps_RA of measured forces: '
        + ', '.join(f'{name} {percent(value)}' for name, value in errors.items())
        + f'; nonlinear lower by at least {percent(measured)} (of noise-free forces '
        f'{percent(exact)}) in each of {found["runs"]} runs'
    )
    return Judgement(figures, [measured > 0, exact > 0])


CLAIMS = (
    Claim(
        'Table 3',
        'estimates without limits are often not physical; limits make them so at a small cost '
        'in the predicted forces',
        'eps_RA 11.96 without, 12.44 % with limits',
        'limits cost nothing where the estimate without them is nearly physical',
        'feasible',
        _physical,
    ),
    Claim(
        'Table 3',
        'nonlinear friction predicts better than linear friction',
        'eps_RA linear 11.96 and 12.44, nonlinear 11.02 %',
        'the laws are those of the simulated friction, or close; their parameters are estimated',
        'feasible',
        _friction,
    ),
)
