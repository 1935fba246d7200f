"""Claims of [A]: noise, excitation and estimators on PaLiDA."""

from __future__ import annotations

from collections.abc import Callable

from claim import Claim, Content, Judgement, case, percent

SURE = 0.05  # p-value
CHANCE = 0.15  # of the pairs: three times what 5 % intervals show of nothing
BEST = 'maximum_likelihood'


def _excitation(content: Content) -> Judgement:
    found = content['ls']
    names, ratios = content['parameters'], found['ratio']
    groups = {'bodies': [], 'Coulomb': [], 'viscous': []}
    for name, ratio in zip(names, ratios, strict=True):
        kind = {'coulomb': 'Coulomb', 'viscous': 'viscous'}.get(name.split('.')[-1], 'bodies')
        groups[kind].append(ratio < 1)
    by_kind = ', '.join(f'{kind} {sum(each)} of {len(each)}' for kind, each in groups.items())
    figures = (
        f'{found["smaller"]} of {len(names)} ({by_kind}), {found["surely_smaller"]} surely so, '
        f'{found["surely_larger"]} surely larger'
    )
    more = found['surely_smaller'] > found['surely_larger']
    return Judgement(figures, [found['smaller'] > len(names) / 2, more])


def _volume(content: Content) -> Judgement:
    found = content['ls']
    low, high = found['log_volume_interval']
    figures = (
        f'ln of the ratio of volumes {found["log_volume_ratio"]:.1f} ({low:.1f} to {high:.1f})'
    )
    return Judgement(figures, [high < 0])


def _estimators(which: Callable[..., Content]) -> Callable[[Content], Judgement]:
    """Judge the order of the estimators at the largest (`max`) or least (`min`) noise."""

    def judge(content: Content) -> Judgement:
        level = which(content['levels'], key=lambda level: level['scale'])
        pairs = ('gauss_markov below ls', 'maximum_likelihood below gauss_markov')
        found = [level['paired'][pair]['error'] for pair in pairs]
        figures = '; '.join(
            f'{pair} by {percent(each["share"])} (p {each["p"]:.1g})'
            for pair, each in zip(pairs, found, strict=True)
        )
        noise = f'{1e6 * level["position_noise"]:.3g} um of noise'
        return Judgement(f'{noise}: {figures}', [e['share'] > 0 and e['p'] < SURE for e in found])

    return judge


def _bias(content: Content) -> Judgement:
    noisy = max(content['levels'], key=lambda level: level['scale'])
    p = {name: noisy[name]['bias_p'] for name in ('ls', 'maximum_likelihood')}
    figures = ', '.join(f'{name}: p {value:.1g}' for name, value in p.items())
    return Judgement(figures, [p['ls'] < SURE, p['maximum_likelihood'] > SURE])


def _count(content: Content) -> Judgement:
    names = content['levels'][0]['parameters']
    friction = [n for n in names if n.endswith(('.coulomb', '.viscous'))]
    figures = f'{len(names) - len(friction)} of the bodies, {len(friction)} of friction'
    return Judgement(figures, [len(names) - len(friction) == 10, len(friction) == 14])


def _normal(content: Content) -> Judgement:
    found = content['noise']['forces']
    low, high = min(found['deviation']), max(found['deviation'])
    figures = (
        f'p {found["normality_p"]:.2g} of all axes and runs; standard deviations {low:.3g} to '
        f'{high:.3g} N'
    )
    return Judgement(figures, [found['normality_p'] > SURE, 10 < low, high < 60])


def _correlated(content: Content) -> Judgement:
    parts, holds = [], []
    for kind in ('forces', 'positions'):
        found = content['noise'][kind]
        size = len(found['deviation'])
        pairs = [(i, j) for i in range(size) for j in range(i)]
        sure = [
            (i, j)
            for i, j in pairs
            if found['correlation_interval'][i][j][0] > 0
            or found['correlation_interval'][i][j][1] < 0
        ]
        largest = max(abs(found['correlation'][i][j]) for i, j in pairs)
        parts.append(f'{kind}: {len(sure)} of {len(pairs)} pairs surely, largest {largest:.2g}')
        holds.append(len(sure) > CHANCE * len(pairs))
    return Judgement('; '.join(parts), holds)


def _above(content: Content, effects: str, motion: str) -> list[str]:
    errors = case(content['cases'], effects=effects)['errors']
    return case(errors, estimator=BEST, motion=motion)['above']


def _circles(content: Content) -> Judgement:
    found = {
        (effects, motion): _above(content, effects, motion)
        for effects in (row['effects'] for row in content['cases'])
        for motion in ('circle', 'mirrored_circle')
    }
    figures = '; '.join(
        f'effects {effects}, {motion.replace("_", " ")}: {len(above)}'
        for (effects, motion), above in found.items()
    )
    holds = [
        bool(found['all', 'circle']),
        len(found['all', 'mirrored_circle']) <= 1,
        not found['modelled', 'circle'] and not found['modelled', 'mirrored_circle'],
    ]
    return Judgement(f'drives whose model error is surely above: {figures}', holds)


CLAIMS = (
    Claim(
        'Table I',
        'base parameters of PaLiDA with legs alike',
        '10 of the bodies, 14 of friction',
        '',
        'estimators',
        _count,
    ),
    Claim(
        'Table II',
        'the statistical design makes standard deviations smaller than the deterministic one, '
        'except of small Coulomb friction',
        "text: all but the joints' friction; table: 15 of 24 (bodies 8 of 10, Coulomb 1 of 8, "
        'viscous 6 of 6)',
        'designs from one random start with one period; Coulomb friction gains nothing from '
        'speed, here as there',
        'excitation',
        _excitation,
    ),
    Claim(
        'Table II',
        'it makes the confidence ellipsoid smaller',
        "from the table's deviations alone not known",
        '',
        'excitation',
        _volume,
    ),
    Claim(
        'Table III',
        'Gauss-Markov is more exact than least squares, maximum likelihood than Gauss-Markov',
        'maximum likelihood nearest to the a-priori values',
        'with so much noise of positions that it matters: 200 times that of the encoders',
        'estimators',
        _estimators(max),
    ),
    Claim(
        'Table III',
        'the same with the noise of the encoders',
        'maximum likelihood nearest to the a-priori values',
        'Fourier series leave so little noise of 20 um that maximum likelihood has nothing to add',
        'estimators',
        _estimators(min),
    ),
    Claim(
        'Table III',
        'least squares is biased by noise of the positions, maximum likelihood is not',
        'least squares farthest from the a-priori values',
        '',
        'estimators',
        _bias,
    ),
    Claim(
        'Figs 4, 5',
        'noise of the measured forces is normal, with standard deviations of 20 to 30 N',
        '20 to 30 N, range +-230 N',
        'the description of the library robot has such noise; the servo adds what it makes of '
        'noise of the positions',
        'noise',
        _normal,
    ),
    Claim(
        'Figs 4, 5',
        'noise of forces and of positions is correlated between the axes',
        'pictures',
        'correlations of the description are assumed',
        'noise',
        _correlated,
    ),
    Claim(
        'Section V, Fig. 7',
        'on the circle the error of the model is above that of the measurement on some drives, by '
        'cogging, on the mirrored circle on none',
        'circle: drives 3 and 4; mirrored: none by the text, drive 5 by 3 % in the table',
        'the simulated cogging is the same along all of the stroke, so that it shows on both '
        'circles; in [A] it depends on the single magnets',
        'noise',
        _circles,
    ),
)
