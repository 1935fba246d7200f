"""Tables of the studies, from their results as plain values: `print_NAME` of each study."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from pkm_bringup.studies.payload_study import CASES
from pkm_bringup.studies.payload_study import LIMIT as ACCEPTED_ERROR
from pkm_bringup.studies.pendulum_study import PUSHED, START_SCALE, WEIGHED
from pkm_bringup.views.console import Column, print_columns
from pkm_bringup.views.study_views.contributions_view import (
    print_contributions as print_contributions,
)
from pkm_bringup.views.study_views.ellipsoid_study_view import print_ellipsoid as print_ellipsoid
from pkm_bringup.views.study_views.excitation_study_view import print_excitation as print_excitation
from pkm_bringup.views.study_views.identifiability_study_view import (
    print_identifiability as print_identifiability,
)
from pkm_bringup.views.study_views.noise_study_view import print_noise as print_noise
from pkm_bringup.views.study_views.stages_view import print_stages as print_stages
from pkm_bringup.views.validation_view import EPS_RA, TO_TRUTH, explained

Content = Mapping[str, Any]
Columns = dict[str, Column]

DIRECTIONS: Columns = {
    'combination': 'which',
    'singular value': ('singular_value', '.4g'),
    'parameters, SI units': lambda row: '  '.join(
        f'{part:+.2f} {name}' for name, part in row['components'].items()
    ),
}
DIRTY: Columns = {'estimator': 'name', 'clean': 'clean', 'dirty': 'dirty'}
DIRTY |= {'dirty / clean': 'ratio', 'worst run': 'worst_ratio'}
LEARNING: Columns = {
    'repetition': 'repetition',
    'model alone [um, urad]': lambda row: f'{1e6 * row["alone"]:.1f}',
    'learned [um, urad]': lambda row: f'{1e6 * row["error"]:.1f}',
    'ratio': ('ratio', '.3f'),
    'worst run': ('worst_ratio', '.3f'),
    'of the bound [%]': ('force_share', '.0f%'),
    'taken away': 'taken_away',
    'verdict': lambda row: ', '.join(row['verdicts']).lower(),
}
HYDRAULICS: Columns = {
    'direction': 'direction',
    'fed forward': 'law',
    'loops, servo [Hz]': lambda row: (
        f'{row["pressure"]:g}, {row["servo"]:g}' if row.get('pressure') else ''
    ),
    'axes, RMS [mm]': lambda row: _millimetres(row['rms']),
    'axes, largest [mm]': lambda row: _millimetres(row['largest']),
    'platform, RMS [mm]': lambda row: _millimetres(row['platform']),
    'largest signal [%]': ('signal', '.0f%'),
}
ESTIMATORS: Columns = {
    'estimator': 'name',
    'error [sd]': ('error', '.3f'),
    'relative error [%]': ('relative_error', '.2f%'),
    'force error [N, N m]': ('force_error', '.3f'),
    'largest bias t': ('largest_bias_t', '.1f'),
    'p of bias': ('bias_p', '.2g'),
    'parameters biased': lambda row: f'{row["biased_parameters"]} of {len(row["bias"])}',
    'reported / observed sd': ('reported_to_observed', '.2f'),
}
ERRORS: Columns = {
    'physical [%]': ('physical', '.0f%'),
    TO_TRUTH: ('error', '.2f%'),
    EPS_RA: ('error_measured', '.2f%'),
}
LIMITS: Columns = {'noise': ('noise', 'g'), 'estimator': 'name', **ERRORS}
LIMITS['limits reached'] = ('active', '.1f')
FRICTION: Columns = {
    'friction': 'name',
    **ERRORS,
    'lower than feasible [%]': lambda row: ', '.join(
        f'{100 * row[key]:.1f}' for key in ('error_lower', 'error_measured_lower')
    ),
}
PAYLOAD: Columns = {
    'known besides the currents': 'known',
    'mass error, rms [%]': ('mass_rms', '%'),
    'largest [%]': ('mass_largest', '%'),
    'mean [%]': ('mass_bias', '%'),
    '+- [%]': ('mass_bias_deviation', '%'),
    'reported sd [%]': ('mass_deviation', '%'),
    'reported / rms': 'reported_to_observed',
    f'within {100 * ACCEPTED_ERROR:g} % [%]': ('within_limit', '%'),
    'centre rms [mm]': lambda row: 1000 * row['centre_rms'],
    'constants rms [%]': ('constant_rms', '%'),
    'reported [%]': ('constant_deviation', '%'),
}
PENDULUM: Columns = {
    'noise': lambda row: f'{100 * row["noise"]:g} %',
    'scale of the masses': 'scale',
    'estimator': 'estimator',
}
SCALES = {
    START_SCALE: 'total mass of the start',
    WEIGHED: 'total mass weighed',
    PUSHED: 'pushed by a known force',
}
REAL: Columns = {
    'method': 'name',
    'error [%]': ('overall', '.2f%'),
    '/ best': ('ratio', '.2f'),
    'raw [%]': ('raw', '.2f%'),
    'within 95 % bounds [%]': ('coverage', '.1f%'),
    'time [s]': ('seconds', '.1f'),
    'by axis [%]': lambda row: ' '.join(f'{100 * each:.1f}' for each in row['axes']),
}
EFFECTS: Columns = {
    'effects': 'effects',
    'friction': 'friction',
    'runs': 'runs',
    'force error [%]': lambda row: ', '.join(
        f'{name} {100 * error:.2g}' for name, error in row['predicted'].items()
    ),
    'tracking without model [mm, mrad]': lambda row: f'{1000 * row["without"]:.4g}',
    'rigid body alone': lambda row: f'{1000 * row["tracked"]["rigid_body"]["full_speed"]:.4g}',
    'with it': lambda row: f'{1000 * row["with_model"]:.4g}',
    'times smaller': ('factor', '.1f'),
    'on the ramps': lambda row: ', '.join(
        f'{1000 * errors["ramps"]:.3g}' for errors in row['tracked'].values()
    ),
}
WORLDS: Columns = {
    'world': 'world',
    'step [ms]': lambda row: f'{1e3 * row["step"]:g}',
    'loops gape by [mm]': lambda row: f'{1e3 * row["gap"]:.1g}',
    'tracking rms [mm, mrad]': lambda row: f'{1e3 * row["tracking"]:.2g}',
    'parameters off, rms [%]': ('rms', '.2g%'),
    'largest [%]': ('largest', '.2g%'),
    'of': 'where',
}
ALARMS: Columns = {
    'false alarms a day': ('a_day', 'g'),
    'expected here': ('expected', '.2g'),
    'found': 'found',
}
PUSHES: Columns = {
    'direction': 'direction',
    'pushes': 'pushes',
    'seen [%]': ('seen', '.0f%'),
    'within 60 ms [%]': ('within', '.0f%'),
    'median [ms]': lambda row: '-' if row['median'] is None else f'{1000 * row["median"]:.0f}',
    'largest [ms]': lambda row: '-' if row['largest'] is None else f'{1000 * row["largest"]:.0f}',
    'least force [N]': ('least_force', '.3g'),
    'best possible in 60 ms [N]': ('best_possible', '.3g'),
}
UF_PKM: Columns = {
    'table': 'table',
    'motion': 'motion',
    'from': 'measured',
    'friction': 'friction',
    'samples': 'order',
    'noise': lambda row: f'{100 * row["noise"]:g} %',
    'runs': 'runs',
    'mass': 'name',
    'true [kg]': 'true',
    'mean found [kg]': 'values',
    'reported deviation [kg]': 'standard_deviation',
    'error, rms [%]': ('errors', '%'),
    'worst [%]': ('worst', '%'),
    'CPU time [s]': 'time',
}


def print_conditioning(content: Content) -> None:
    """Print the directions that bound the condition number, and what is left of the limits."""
    title = (
        f'condition number {content["condition_number"]:.4g} of {content["parameters"]} '
        f'parameters (scaled {content["condition_number_scaled"]:.4g}), period '
        f'{content["period"]:.4g} s, {content["harmonics"]} harmonics'
    )
    print_columns(content['directions'], DIRECTIONS, title)
    margins = ', '.join(
        f'{name.replace("_", " ")} {value["margin"]:.3g} {value["unit"]}'.rstrip()
        for name, value in content['margins'].items()
    )
    sys.stdout.write(f'\nleft of the limits: {margins}\n')


def print_dirty(content: Content) -> None:
    """Print errors and what was found, one table a robot."""
    for robot in content['robots']:
        title = (
            f'{robot["robot"]}, {robot["runs"]} runs: error in standard deviations of '
            'Gauss-Markov from clean data, median'
        )
        print_columns(_named(robot['errors']), DIRTY, title)
        found = {key: 100 * share for key, share in robot['found'].items()}
        named = (f'{kind} {100 * share:.0f} %' for kind, share in robot['named'].items())
        sys.stdout.write(
            f'\nfound: {found["position_outliers_found"]:.1f} % of the outliers of positions, '
            f'{found["effort_outliers_found"]:.1f} % of those of efforts, '
            f'{found["stuck_found"]:.1f} % of the stuck samples, {found["lost_found"]:.1f} % of '
            f'the lost ones; left out by mistake {found["false_alarms"]:.3f} %\n'
            f'named in the report: {", ".join(named)}\n\n'
        )


def _named(found: Content, *names: str) -> list[dict[str, Any]]:
    """Rows of what is found by name, those of all names by default."""
    return [{'name': name, **found[name]} for name in names or found]


def print_effects(content: Content) -> None:
    """Print errors of forces and of tracking, case by case."""
    print_columns(content['cases'], EFFECTS)


def print_learning(content: Content) -> None:
    """Print the repetitions of each case."""
    for name, rows in content['cases'].items():
        print_columns(rows, LEARNING, f'{content["robot"]}, {name}')
        sys.stdout.write('\n')


def _millimetres(value: float | None) -> str:
    return 'lost' if value is None else f'{1e3 * value:.3f}'


def print_hydraulics(content: Content) -> None:
    """Print the errors of each law."""
    title = (
        f'{content["robot"]}: spools of {content["valve_frequency"]:g} Hz, gain of the loops '
        f'{content["gain"]:.1f} 1/s, forces of the path at most {content["force"]:.0f} N'
    )
    print_columns(content['laws'], HYDRAULICS, title)


def print_estimators(content: Content) -> None:
    """Print one table a level of position noise, and the paired comparisons."""
    for level in content['levels']:
        title = (
            f'position noise {1e6 * level["position_noise"]:.3g} um (urad), {level["runs"]} runs, '
            f'{level["harmonics"]:.0f} harmonics of motion, '
            f'{len(level["well_determined"])} parameters within 15 %'
        )
        names = content['origin']['options']['estimators']
        print_columns(_named(level, *names), ESTIMATORS, title)
        sys.stdout.write('\n')
        for pair, figures in level['paired'].items():
            parts = ', '.join(
                f'{key.replace("_", " ")} lower by {100 * value["share"]:.1f} % '
                f'(in {value["runs"]} of {level["runs"]} runs, p {value["p"]:.2g})'
                for key, value in figures.items()
            )
            sys.stdout.write(f'{pair}: {parts}\n')


def print_feasible(content: Content) -> None:
    """Print the errors with and without limits, and with nonlinear friction."""
    levels = content['limits']['levels']
    rows = [
        {'noise': level['noise'], **row}
        for level in levels
        for row in _named(level, 'gauss_markov', 'feasible')
    ]
    title = (
        f'{content["limits"]["robot"]}: eps_RA on another motion: of the exact motion to the '
        'truth (noise-free forces), and to measured ones'
    )
    print_columns(rows, LIMITS, title)
    for level in levels:
        ratio, measured, cost = (
            level[key] for key in ('error_ratio', 'error_measured_ratio', 'cpu_time')
        )
        sys.stdout.write(
            f'noise {level["noise"]:g}: error with limits over that without {ratio["median"]:.3f} '
            f'(median), {ratio["largest"]:.3f} (largest of {level["runs"]}); to measured '
            f'forces {measured["median"]:.3f}, {measured["largest"]:.3f}; CPU time '
            f'{cost["shared"]:.3f} s with shared designs, {cost["each"]:.3f} s without\n'
        )
    friction = content['friction']
    rows = _named(friction, 'gauss_markov', 'feasible', *content['origin']['options']['laws'])
    title = f'\n{friction["robot"]} with Stribeck friction, {friction["runs"]} runs'
    print_columns(rows, FRICTION, title)
    sys.stdout.write(''.join(f'{line}\n' for line in explained(EPS_RA, TO_TRUTH)))


def print_monitor(content: Content) -> None:
    """Print false alarms by level, and what was seen of the pushes."""
    print(f'{content["robot"]}: {content["hours"]:.2f} h of undisturbed motion')
    print_columns(content['alarms'], ALARMS)
    print(f'pushes of {content["force"]:g} N at random moments of the motion')
    print_columns(content['pushes'], PUSHES)


def print_payload(content: Content) -> None:
    """Print one row for each of the things that may be known."""
    rows = [{'known': CASES[case], **each} for case, each in content['cases'].items()]
    title = (
        f'payload of {content["mass"]:g} kg on {content["robot"]}, force constants off by up '
        f'to {100 * content["spread"]:g} %, {content["runs"]} runs, {content["periods"]} '
        f'periods ({content["duration"]:.3g} s) each recording, plant: {content["plant"]}'
    )
    print_columns(rows, PAYLOAD, title)
    alone = content['without_payload']
    sys.stdout.write(
        '\nwithout any payload: ratios of the force constants off by '
        f'{100 * alone["ratio_rms"]:.3g} % rms (reported {100 * alone["ratio_deviation"]:.3g} '
        f'%), standard deviation of their common factor {alone["common_deviation"]:g}\n'
    )


def print_pendulum(content: Content) -> None:
    """Print the errors of each estimator, and how often the UKF is better."""
    quantities = (*content['parameters'], 'm1/M', 'm2/M')
    rows = [
        {**case, **dict(zip(quantities, [*case['errors'], *case['ratio_errors']], strict=True))}
        for case in content['cases']
    ]
    columns = PENDULUM | {f'{name} [%]': (name, '%') for name in quantities}
    title = (
        f'errors (root mean square of {content["runs"]} runs where there is noise) after one pass '
        f'through {content["samples"]} samples'
    )
    print_columns(rows, columns | {'CPU time [s]': 'time'}, title)
    noisy = {(c['scale'], c['estimator']): c['largest'] for c in content['cases'] if c['noise']}
    sys.stdout.write('\n')
    for scale, source in SCALES.items():
        pairs = zip(noisy[scale, 'ukf'], noisy[scale, 'ls'], strict=True)
        better = sum(ukf < ls for ukf, ls in pairs)
        sys.stdout.write(
            f'largest error of a parameter, {source}: smaller by the UKF than by least '
            f'squares in {better} of {content["runs"]} runs with noise\n'
        )


def print_real(content: Content) -> None:
    """Print a table a log: errors, bounds and times, then who refused and why."""
    for log in content['logs']:
        bands = ', '.join(dict.fromkeys(f'{band:.3g}' for band in log['band']))
        title = (
            f'{log["log"]}, {len(log["joints"])} axes, {log["rate"]:.4g} Hz: rms of the error over '
            f'rms of the measured forces below {bands} Hz, held-out motions'
        )
        served = [row for row in log['rows'] if 'refused' not in row]
        print_columns(served, REAL, title)
        for row in served:
            if 'cutoff' in row:
                sys.stdout.write(f'{row["name"]}: {row["cutoff"]:.3g} Hz\n')
        for row in log['rows']:
            if 'refused' in row:
                sys.stdout.write(f'{row["name"]}: {row["refused"]}\n')
        sys.stdout.write('\n')


def print_uf_pkm(content: Content) -> None:
    """Print the masses, case by case."""
    by_name = ('true', 'values', 'standard_deviation', 'errors', 'worst')
    rows = [
        {**case, 'name': name, **{key: case[key][name] for key in by_name}}
        for case in content['cases']
        for name in case['true']
    ]
    print_columns(rows, UF_PKM)


def print_worlds(content: Content) -> None:
    """Print the parameters from every world, then the worlds, and which are missing."""
    columns: Columns = {'parameter': 'name', 'unit': 'unit', 'true': ('true', '.4g')}
    for world in (row['world'] for row in content['worlds']):
        columns[f'{world} [%]'] = partial(_deviation, world)
    columns['between worlds [%]'] = ('between', '.2f%')
    columns['reported sd [%]'] = ('standard_deviation', '.2g%')
    title = f'{content["robot"]}: deviations of the identified parameters from the truth'
    print_columns(content['parameters'], columns, title)
    known = sum(row['well_known'] for row in content['parameters'])
    title = f'worlds, by the {known} parameters that the motion shows to 1 %'
    sys.stdout.write('\n')
    print_columns(content['worlds'], WORLDS, title)
    for world, reason in content['missing'].items():
        sys.stdout.write(f'missing: {world} ({reason})\n')


def _deviation(world: str, row: Mapping[str, Any]) -> str | None:
    off = row['deviations'][world]
    return None if off is None else f'{100 * off:+.2f}'
