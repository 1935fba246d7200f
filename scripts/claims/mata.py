"""Claims of [M]: physical feasibility, friction and identifiability of a 3-RPS."""

from __future__ import annotations

from collections.abc import Callable

from claim import Claim, Content, Judgement, percent

ALIKE = 1.05  # ratio of errors; [M] has 1.035 and 1.026


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


def spread(found: Content, factor: float = 1.0) -> str:
    """Write a mean over runs with its interval."""
    low, high = (factor * each for each in found['interval'])
    return f'{factor * found["mean"]:.4g} ({low:.4g} to {high:.4g})'


def _base(content: Content) -> Judgement:
    found = content['base_parameters']
    figures = (
        f'{found["count"]} with legs of their own, {found["inside"]} of the '
        f'{found["papers_count"]} '
        'combinations in the same space'
    )
    holds = [found['count'] == found['papers_count'], found['inside'] == found['papers_count']]
    return Judgement(figures, holds)


def _models(content: Content) -> Judgement:
    counts = content['base_parameters']['counts']
    own = [counts[f'model_{number}']['single'] for number in (1, 2, 3)]
    figures = f'rank of what is left: {", ".join(map(str, own))}'
    return Judgement(figures, [own == [25, 15, 9]])


def _costly(content: Content) -> Judgement:
    found = content['stribeck']['trajectories']['least_squares_ratio']['measured']
    figures = f'least squares over `feasible` on other motions: {spread(found)}'
    return Judgement(figures, [found['interval'][1] < 1])


def _nonlinear_elsewhere(content: Content) -> Judgement:
    found = content['stribeck']['trajectories']
    ratio = found['nonlinear_ratio']['measured']
    errors = {
        name: found['errors'][name]['measured']
        for name in ('linear_feasible', 'nonlinear_feasible')
    }
    others = [name for name in found['motions'] if name != found['identified_from']]
    lower = [
        errors['nonlinear_feasible'][name]['mean'] < errors['linear_feasible'][name]['mean']
        for name in others
    ]
    figures = f'ratio {spread(ratio)}; lower on {sum(lower)} of {len(others)} other motions'
    return Judgement(figures, [all(lower), ratio['interval'][1] < 1])


def _model_1(content: Content) -> Judgement:
    rows = content['linear']['full']
    bodies = [row for row in rows if not _is_of_drive(row['name'])]
    drives = [row for row in rows if _is_of_drive(row['name'])]
    impossible = [row for row in bodies if row['impossible'] > 0]
    known = {
        what: sum(row['proper'] > 0.5 for row in each)
        for what, each in (('bodies', bodies), ('drives', drives))
    }
    figures = (
        f'identified in most runs: {known["bodies"]} of {len(bodies)} of the bodies, '
        f'{known["drives"]} of {len(drives)} of the drives; {len(impossible)} of the bodies come '
        'out impossible in a run at least'
    )
    coulomb = [row for row in drives if '.coulomb' in row['name']]
    bad = [row for row in coulomb if row['impossible'] > 0]
    return Judgement(figures, [known['bodies'] < len(bodies) / 2, bool(impossible), bool(bad)])


def _is_of_drive(name: str) -> bool:
    return name.rpartition('.')[2].split('_')[0] in ('coulomb', 'viscous', 'rotor')


def _few(kind: str) -> Callable[[Content], Judgement]:
    """Judge model 4 against model 1, by measured forces of other motions."""

    def judge(content: Content) -> Judgement:
        levels = {row['name']: row for row in content[kind]['levels']}
        few = levels['model_4']
        ratio = few['error_measured']['mean'] / levels['model_1']['error_measured']['mean']
        known, whole = few['proper']['mean'], few['parameters']['mean']
        least = levels['model_1']
        figures = (
            f'model 1: {least["proper"]["mean"]:g} of {least["parameters"]["mean"]:g} identified, '
            f'model 4: {known:g} of {whole:g}; eps_RA {percent(least["error_measured"]["mean"])} '
            f'and {percent(few["error_measured"]["mean"])}, ratio {ratio:.3f}'
        )
        holds = [
            ratio < ALIKE,
            known == whole,
            least['proper']['mean'] < least['parameters']['mean'],
        ]
        return Judgement(figures, holds)

    return judge


def _values(content: Content) -> Judgement:
    errors = {}
    for level in ('model_4', 'model_1'):
        rows = {row['number']: row for row in content['linear']['mata'][level]}
        wanted = [row['number'] for row in content['linear']['mata']['model_4']]
        errors[level] = max(
            abs(rows[number]['identified']['deviation'] / rows[number]['exact'])
            + abs(rows[number]['identified']['mean'] / rows[number]['exact'] - 1)
            for number in wanted
        )
    figures = (
        'largest error and spread: '
        f'model 4 {percent(errors["model_4"])}, model 1 {percent(errors["model_1"])}'
    )
    return Judgement(figures, [errors['model_4'] < 0.27, errors['model_1'] > errors['model_4']])


SIMULATED = 'simulated; Stribeck friction in the plant stands for the real robot of [M]'

CLAIMS = (
    Claim(
        'Table 1',
        'base parameters of the bodies of the 3-RPS',
        '25',
        'other combinations of the same space; the signs of the axes are not given in [M]',
        'identifiability',
        _base,
    ),
    Claim(
        'Table 2',
        'models 1 to 3 have fewer and fewer parameters of the bodies',
        '25, 15, 9',
        '',
        'identifiability',
        _models,
    ),
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
    Claim(
        'Table 4',
        'on other motions estimates within limits are worse than least squares, up to twice',
        'least squares 9.5 to 17.9, within limits 19.2 to 26.1 %',
        f'limits cost nothing here; {SIMULATED}',
        'identifiability',
        _costly,
    ),
    Claim(
        'Table 4',
        'nonlinear friction predicts other motions about as well as linear, or better',
        'linear 19.2 to 26.1, nonlinear 18.0 to 24.7 %, both within limits',
        SIMULATED,
        'identifiability',
        _nonlinear_elsewhere,
    ),
    Claim(
        'Table 5',
        'with all parameters most of the bodies are not identified, some are impossible, Coulomb '
        'friction by direction, too',
        '4 of 37 identified; inertias of limbs -86 and -67 of 0.16; Coulomb friction of +1659 and '
        '-1211 N for 228 N',
        '16 s at 1 kHz tell Coulomb friction better than the 75 points of [M]',
        'identifiability',
        _model_1,
    ),
    Claim(
        'Table 6',
        'few parameters, all identified, predict about as well as all',
        'model 1: 4 of 37, eps_RA 4.57 %; model 4: 12 of 12, 4.73 %: ratio 1.035',
        '',
        'identifiability',
        _few('linear'),
    ),
    Claim(
        'Table 7',
        'the same on the real robot',
        'model 1: 2 of 37, 8.40 %; model 4: 12 of 12, 8.62 %: ratio 1.026',
        SIMULATED,
        'identifiability',
        _few('stribeck'),
    ),
    Claim(
        'Table 8',
        'model 4 has parameters near those of the design, model 1 does not',
        'of the real robot: model 4 5 to 28 % off, model 1 far',
        'exact values are known here',
        'identifiability',
        _values,
    ),
)
