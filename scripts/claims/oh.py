"""Claims of [O]: Kalman filters on a pendulum and on the UF-PKM."""

from __future__ import annotations

from collections.abc import Callable

from claim import Claim, Content, Judgement, case, percent, percents

LEAST_SQUARES, FILTER = 'ls', 'ukf'
KNOWN = 0.5  # of the deviation at the start: what the data have not told is still as uncertain
DOMINANT = 0.5  # of the forces
SURELY = 3.0  # deviations
GOOD, POOR = 0.01, 0.1  # errors of masses, where the text has words alone
PLATFORM = ('Ixxp', 'Iyyp', 'Izzp')


def _pendulum_exact(content: Content) -> Judgement:
    errors = {
        name: max(case(content['cases'], noise=0.0, scale='weighed', estimator=name)['errors'])
        for name in (LEAST_SQUARES, FILTER)
    }
    scale = max(case(content['cases'], noise=0.0, scale='start', estimator=FILTER)['errors'])
    figures = (
        f'total mass weighed: UKF {percent(errors[FILTER])}, least squares '
        f'{percent(errors[LEAST_SQUARES])}; total mass of the start: UKF {percent(scale)}'
    )
    return Judgement(figures, [errors[FILTER] < 0.01, errors[FILTER] < errors[LEAST_SQUARES]])


def _pendulum_noisy(content: Content) -> Judgement:
    parts, holds = [], []
    noise = max(row['noise'] for row in content['cases'])
    for scale in ('start', 'weighed', 'pushed'):
        found = {
            name: case(content['cases'], noise=noise, scale=scale, estimator=name)['largest']
            for name in (LEAST_SQUARES, FILTER)
        }
        better = sum(a < b for a, b in zip(found[FILTER], found[LEAST_SQUARES], strict=True))
        count = len(found[FILTER])
        parts.append(f'{scale}: UKF better in {better} of {count} runs')
        holds.append(better > count / 2)
    return Judgement('; '.join(parts), holds)


def _time(content: Content) -> Judgement:
    times = {
        name: case(content['cases'], noise=0.0, scale='start', estimator=name)['time']
        for name in (LEAST_SQUARES, FILTER)
    }
    ratio = times[FILTER] / times[LEAST_SQUARES]
    return Judgement(f'{ratio:.2g} times', [ratio > 1])


def _largest(table: str, bounds: dict[str, float], **wanted: object) -> Callable:
    """Judge the largest errors of a table by what [O] states for each motion."""

    def judge(content: Content) -> Judgement:
        rows = [case(content['cases'], table=table, motion=m, **wanted) for m in bounds]
        found = [max(row['worst'].values()) for row in rows]
        named = ', '.join(bounds)
        return Judgement(f'{named}: {percents(found)}', _at_most(found, bounds.values()))

    return judge


def _at_most(found: list[float], bounds: object) -> list[bool]:
    return [error <= bound for error, bound in zip(found, bounds, strict=True)]


def _random_order(content: Content) -> Judgement:
    found = {
        motion: max(case(content['cases'], table='4.10', motion=motion)['worst'].values())
        for motion in ('x', 'xy', 'z', 'fall')
    }
    figures = f'{", ".join(found)}: {percents(list(found.values()))}'
    good, poor = (found['x'], found['xy']), (found['z'], found['fall'])
    return Judgement(figures, [max(good) < GOOD, min(poor) > POOR])


def _noisy_energy(content: Content) -> Judgement:
    row = case(content['cases'], table='4.16', noise=0.01)
    found = max(row['worst'].values())
    return Judgement(
        f'worst of {row["runs"]} runs: {percent(found)}', [found > POOR, found <= 0.805]
    )


def _noisy(table: str, bounds: dict[float, float]) -> Callable:
    def judge(content: Content) -> Judgement:
        rows = [case(content['cases'], table=table, noise=noise) for noise in bounds]
        found = [max(row['worst'].values()) for row in rows]
        text = f'worst of {rows[0]["runs"]} runs: {percents(found)}'
        return Judgement(text, _at_most(found, bounds.values()))

    return judge


def _inertias(table: str, platform: float, struts: float) -> Callable:
    """Judge inertias: told by the data, and within what [O] states."""

    def judge(content: Content) -> Judgement:
        rows = [row for row in content['cases'] if row['table'] == table]
        names = [name for name in rows[0]['true'] if name.startswith('I')]
        told = {
            name: min(row['standard_deviation'][name] / row['true'][name] for row in rows)
            for name in names
        }
        known = [n for n in names if told[n] < KNOWN * rows[0]['start_deviation']]
        largest = {
            what: max(row['worst'][n] for row in rows for n in names if (n in PLATFORM) == is_in)
            for what, is_in in (('platform', True), ('struts', False))
        }
        figures = (
            f'told by a motion: {", ".join(known) or "none"}; largest errors: platform '
            f'{percent(largest["platform"])}, struts {percent(largest["struts"])}, at the start '
            '10 % each'
        )
        holds = [set(PLATFORM) <= set(known), largest['platform'] <= platform]
        return Judgement(figures, [*holds, largest['struts'] <= struts])

    return judge


def _concluded(*named: str) -> Callable:
    """Judge what the study judges, in its words."""

    def judge(content: Content) -> Judgement:
        rows = [case(content['claims'], claim=claim) for claim in named]
        parts = [
            f'{row["claim"]}: '
            + ', '.join(f'{name} {value:.2g}' for name, value in row['figures'].items())
            for row in rows
        ]
        return Judgement('; '.join(parts), [row['holds'] for row in rows])

    return judge


def _centres(content: Content) -> Judgement:
    """Our z is the normal of the platform, the y of [O]."""
    rows = content['centre_of_mass']
    largest = {
        name: max(max(row['changed'][name]['rms']) for row in rows)
        for name in ('x0y0z0', 'x0y0z1', 'x1y1z0', 'x1y0z0', 'x0y1z0')
    }
    normal, across = largest['x0y0z1'], largest['x1y1z0']
    figures = (
        f'none {percent(largest["x0y0z0"])}, along the normal {percent(normal)}, across '
        f'{percent(across)}'
    )
    alone = max(largest['x1y0z0'], largest['x0y1z0'])
    holds = [largest['x0y0z0'] == 0, normal < 0.1 * across, across > alone, across > 0.01]
    return Judgement(figures, holds)


def _dominates(content: Content) -> Judgement:
    shares = content['friction_share'].values()
    figures = f'{percent(min(shares))} to {percent(max(shares))} of the forces, RMS'
    return Judgement(figures, [min(shares) > DOMINANT])


def _by_direction(content: Content) -> Judgement:
    found = {
        plant: max(row['in_deviations'] for row in content['directions'] if row['plant'] == plant)
        for plant in ('drives', 'passive')
    }
    figures = (
        'differences between motions, in reported deviations: friction of the drives alone '
        f'{found["drives"]:.2g}, with passive joints that rub {found["passive"]:.2g}'
    )
    return Judgement(figures, [found['passive'] > SURELY, found['drives'] > SURELY])


def _converges(content: Content) -> Judgement:
    rough = [row for row in content['estimates'] if row['start'] == 'rough']
    off = {
        name: max(row['of_least_squares'] for row in rough if row['method'] == name)
        for name in ('ukf', 'ukf, confident', 'stages')
    }
    figures = 'distance from least squares, in reported deviations: ' + ', '.join(
        f'{name} {value:.2g}' for name, value in off.items()
    )
    return Judgement(figures, [off['ukf'] > SURELY, off['stages'] < SURELY])


def _last_stage(content: Content) -> Judgement:
    rows = [row for row in content['stages'] if row['start'] == 'rough']
    first, *_, last = [name for name in rows[0] if name not in ('plant', 'motion', 'start')]
    better = sum(row[last] < row[first] for row in rows)
    figures = (
        f'friction, RMS error: {percents([row[first] for row in rows])} after {first}, '
        f'{percents([row[last] for row in rows])} after {last}; smaller in {better} of {len(rows)}'
    )
    return Judgement(figures, [better == len(rows)])


FEW = 'forces are linear in the masses: one pass ends at the least-squares solution'
STAY = (
    'what no motion tells stays at its start, there as here: the platform turns in none of the '
    'sines'
)
START = (
    '[O] owes the scale of the masses to its start within the true total: a free fall shows none'
)

CLAIMS = (
    Claim(
        'Table 2.1',
        'terms of the equations are grouped',
        'no figures',
        'a definition: platform and struts, inertia, gravity, velocity',
    ),
    Claim(
        'Tables 2.2, 2.3; Figs 2.10 to 2.15',
        'velocity terms are very small; gravity makes the force of slow and of vertical motions; '
        'at high speed inertia varies more; horizontal motions show inertia better than vertical '
        'ones',
        'bar charts without figures',
        'machines of their own size, where [O] scales them to one',
        'contributions',
        _concluded(
            'velocity terms are very small',
            'gravity dominates slow motions',
            'gravity dominates motions of z',
            'inertia varies more than gravity at high speed',
            'x shows more inertia than z',
        ),
    ),
    Claim(
        'Figs 2.10 to 2.15',
        'the share of the platform grows with the ratio of masses, which matters more than '
        'geometry',
        'ratios 0.45, 3.34, 22.9',
        '',
        'contributions',
        _concluded(
            "the platform's inertia over the struts' grows with mp/(6 me)",
            'masses matter more than geometry',
        ),
    ),
    Claim(
        'Figs 2.10 to 2.15',
        'forces of the Hexel vary in all motions beside its axis',
        '20 to 58 %',
        'only x through the workspace at its feed is so fast here',
        'contributions',
        _concluded('forces of the Hexel vary by 20 to 58 % beside its axis'),
    ),
    Claim(
        'Table 2.4',
        'forces hardly depend on the centre of mass along the normal of the platform, most on '
        'both directions across together',
        'some units, in per cent, for 1 %',
        'how [O] takes 1 % of an offset that starts at zero is not said: here 1 % of the way',
        'contributions',
        _centres,
    ),
    Claim(
        'Table 3.1',
        'without noise the UKF finds all five parameters within 1 %, least squares the masses '
        'within 15 %',
        'UKF 1 %, least squares 15 %',
        f'least squares solved to its end is exact; {START}',
        'pendulum',
        _pendulum_exact,
    ),
    Claim(
        'Table 3.2',
        'with noise below 1 % the UKF is better than least squares',
        'no readable figures',
        '',
        'pendulum',
        _pendulum_noisy,
    ),
    Claim(
        'Tables 3.1, 3.2',
        'the UKF takes longer than least squares',
        '68.9 against 4.23 s, 16 times',
        'one pass of both; filters compiled differently',
        'pendulum',
        _time,
    ),
    Claim(
        'Table 4.1',
        'friction of the single struts',
        'measured at two struts, the others scaled',
        "an input: the friction of the library robot is [O]'s where it can be read",
    ),
    Claim(
        'Tables 4.2, 4.3',
        'start and motions',
        'sines of 0.0254 m, 2 Hz; free fall',
        'an input: the motions of the tables below',
    ),
    Claim(
        'Table 4.4',
        'masses from forces, no friction',
        'x 0.04, z 16.5, xy 0.04, fall 11.4 %',
        FEW,
        'uf_pkm',
        _largest('4.4', {'x': 0.0004, 'z': 0.165, 'xy': 0.0004, 'fall': 0.114}),
    ),
    Claim(
        'Table 4.6',
        'masses from forces, with friction',
        'x 3, z 2.6, xy 16.2, fall 14 %',
        f'{FEW}; the filter knows the friction',
        'uf_pkm',
        _largest('4.6', {'x': 0.03, 'z': 0.026, 'xy': 0.162, 'fall': 0.14}, friction='known'),
    ),
    Claim(
        'Table 4.6',
        'the same, should its filter not have known the friction',
        'x 3, z 2.6, xy 16.2 %',
        'what its filter knew is not clear from the text',
        'uf_pkm',
        _largest('4.6', {'x': 0.03, 'z': 0.026, 'xy': 0.162}, friction='neglected'),
    ),
    Claim(
        'Table 4.8',
        'masses from energy, no friction',
        'x 5.6, z 6.5, xy 7.3 %',
        'work integrated over each sample to higher order',
        'uf_pkm',
        _largest('4.8', {'x': 0.056, 'z': 0.065, 'xy': 0.073}),
    ),
    Claim(
        'Table 4.10',
        'samples in random order: x and xy good, z and fall poor',
        'z 56 %',
        f'{FEW}, in any order',
        'uf_pkm',
        _random_order,
    ),
    Claim(
        'Table 4.12',
        'masses from every tenth sample as from all',
        'x 0 %, others without figures',
        FEW,
        'uf_pkm',
        _largest('4.12', {'x': 0.0004, 'z': 0.165, 'xy': 0.0004, 'fall': 0.114}),
    ),
    Claim(
        'Table 4.14',
        'masses with noise of 1 and 5 %, xy',
        '5.4, 9.2 %',
        'noise of forces, velocities and accelerations in their value, uniform',
        'uf_pkm',
        _noisy('4.14', {0.01: 0.054, 0.05: 0.092}),
    ),
    Claim(
        'Table 4.16',
        'masses from energy with noise of 1 %, xy: poor',
        '38 to 80 %',
        'noise of positions is larger than what energy changes within 1 ms',
        'uf_pkm',
        _noisy_energy,
    ),
    *(
        Claim(
            f'Table {table}',
            f'inertias {what}',
            theirs,
            STAY,
            'uf_pkm',
            _inertias(table, 0.008, 0.262),
        )
        for table, what, theirs in (
            ('4.5', 'from forces, no friction', 'platform 0.8, struts 26.2 %'),
            ('4.7', 'from forces, with friction', 'no readable figures'),
            ('4.9', 'from energy', 'no readable figures'),
            ('4.11', 'from samples in random order', 'platform 0.8, struts 26.2 %'),
            ('4.13', 'from every tenth sample', 'platform 0.8, struts 26.2 %'),
            ('4.15', 'with noise', 'no readable figures'),
            ('4.17', 'from energy with noise', 'no readable figures'),
        )
    ),
    Claim(
        'Chapter 5',
        'friction dominates the forces of the UF-PKM',
        'no figure',
        'simulated, with the friction of Table 4.1 as far as it can be read',
        'stages',
        _dominates,
    ),
    Claim(
        'Tables 5.1, 5.3, 5.5',
        'estimated friction depends on the direction of the motion',
        'viscous up to 123 %, Coulomb 5 to 300 % off, by the motion',
        '[O] supposes the passive joints, which its model lacks: they do it here, friction of the '
        'drives alone does not',
        'stages',
        _by_direction,
    ),
    Claim(
        'Tables 5.1, 5.2, 5.4, 5.6',
        'all parameters together do not converge from a rough start, three stages do',
        '24 parameters',
        'least squares have one solution, which the filter reaches from any start that it does not '
        'trust too much',
        'stages',
        _converges,
    ),
    Claim(
        'Tables 5.5, 5.6',
        'the last stage, all parameters together, makes the friction of the first more exact',
        'changes of up to 186 %',
        'where the passive joints rub, errors are of what the model lacks, in every stage',
        'stages',
        _last_stage,
    ),
)
