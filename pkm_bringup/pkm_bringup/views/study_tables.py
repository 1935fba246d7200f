"""Tables of the studies, from their results as plain values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from pkm_bringup.studies.payload_study import CASES
from pkm_bringup.studies.payload_study import LIMIT as ACCEPTED_ERROR
from pkm_bringup.studies.pendulum_study import PUSHED, START_SCALE, WEIGHED
from pkm_bringup.views.console import print_records, print_table
from pkm_bringup.views.excitation_study_table import print_excitation

Content = Mapping[str, Any]


def print_conditioning(content: Content) -> None:
    """Print the directions that bound the condition number, and what is left of the limits."""
    rows = [
        {
            'combination': one['which'],
            'singular value': f'{one["singular_value"]:.4g}',
            'parameters, SI units': '  '.join(
                f'{part:+.2f} {name}' for name, part in one['components'].items()
            ),
        }
        for one in content['directions']
    ]
    print_records(
        rows,
        f'condition number {content["condition_number"]:.4g} of {content["parameters"]} '
        f'parameters (scaled {content["condition_number_scaled"]:.4g}), period '
        f'{content["period"]:.4g} s, {content["harmonics"]} harmonics',
    )
    margins = ', '.join(
        f'{name.replace("_", " ")} {value["margin"]:.3g} {value["unit"]}'.rstrip()
        for name, value in content['margins'].items()
    )
    sys.stdout.write(f'\nleft of the limits: {margins}\n')


def print_dirty(content: Content) -> None:
    """Print errors and what was found, one table a robot."""
    for robot in content['robots']:
        _print_dirty_robot(robot)


def _print_dirty_robot(content: Content) -> None:
    rows = [
        [name, each['clean'], each['dirty'], each['ratio'], each['worst_ratio']]
        for name, each in content['errors'].items()
    ]
    title = (
        f'{content["robot"]}, {content["runs"]} runs: error in standard deviations of '
        'Gauss-Markov from clean data, median'
    )
    print_table(('estimator', 'clean', 'dirty', 'dirty / clean', 'worst run'), rows, title)
    found = content['found']
    lines = [
        f'found: {100 * found["position_outliers_found"]:.1f} % of the outliers of positions, '
        f'{100 * found["effort_outliers_found"]:.1f} % of those of efforts, '
        f'{100 * found["stuck_found"]:.1f} % of the stuck samples, '
        f'{100 * found["lost_found"]:.1f} % of the lost ones; left out by mistake '
        f'{100 * found["false_alarms"]:.3f} %',
        'named in the report: '
        + ', '.join(f'{kind} {100 * share:.0f} %' for kind, share in content['named'].items()),
    ]
    sys.stdout.write('\n' + '\n'.join(lines) + '\n\n')


def print_ellipsoid(content: Content) -> None:
    """Print both parts, and the intervals of the parameters."""
    bounded, controlled = content['bounded_errors'], content['controlled_robot']
    told = {'mean': 'mean period', 'each': 'each sample'}
    rows = [
        {
            'bounds of': told[use],
            'truth inside': f'{found["inside"]} of {bounded["runs"]}',
            'farthest truth': f'{found["largest_distance"]:.2f}',
            'forces inside [%]': f'{100 * found["forces_inside"]:.4g}',
            'half-width [%]': f'{100 * found["relative_half_width"]:.3g}',
            'half range of forces / bound': f'{found["force_half_range"]:.2g}',
            'outliers': found['outliers'],
            'passes': f'{found["passes"]:.0f}',
        }
        for use, found in ((use, bounded[use]) for use in told)
    ]
    title = f'errors within {bounded["bound"]:g} % of the largest forces, '
    print_records(rows, f'{title}{bounded["periods"]} periods a run')
    rows = [
        {
            'bound [%]': f'{case["bound"]:g}',
            'strips': case['strips'],
            'outliers': case['outliers'],
            '[%]': f'{100 * case["outlier_share"]:.3g}',
            'det M^-1': f'{case["determinant"]:.3g}',
            'distance of truth': f'{case["distance_of_truth"]:.2f}',
            'noise-free forces inside [%]': f'{100 * case["noise_free_inside"]:.4g}',
            'measured inside [%]': f'{100 * case["measured_inside"]:.4g}',
        }
        for case in controlled['cases']
    ]
    sys.stdout.write('\n')
    print_records(rows, f'{controlled["robot"]} under control, {controlled["periods"]} periods')
    sys.stdout.write('\n')
    cases = controlled['cases']
    table = [
        (
            name,
            f'{truth:.4g}',
            *(f'{case["centre"][i]:.4g} +- {case["half_widths"][i]:.2g}' for case in cases),
            unit,
        )
        for i, (name, truth, unit) in enumerate(
            zip(controlled['parameters'], controlled['truth'], controlled['units'], strict=True)
        )
    ]
    columns = (f'bound {case["bound"]:g} %' for case in cases)
    print_table(('parameter', 'true', *columns, 'unit'), table)


def print_estimators(content: Content) -> None:
    """Print one table a level of position noise, and the paired comparisons."""
    for level in content['levels']:
        rows = [
            {
                'estimator': name,
                'error [sd]': f'{found["error"]:.3f}',
                'relative error [%]': f'{100 * found["relative_error"]:.2f}',
                'force error [N, N m]': f'{found["force_error"]:.3f}',
                'largest bias t': f'{found["largest_bias_t"]:.1f}',
                'p of bias': f'{found["bias_p"]:.2g}',
                'parameters biased': f'{found["biased_parameters"]} of {len(level["parameters"])}',
                'reported / observed sd': f'{found["reported_to_observed"]:.2f}',
            }
            for name in content['origin']['options']['estimators']
            for found in (level[name],)
        ]
        title = (
            f'position noise {1e6 * level["position_noise"]:.3g} um (urad), {level["runs"]} runs, '
            f'{level["harmonics"]:.0f} harmonics of motion, '
            f'{len(level["well_determined"])} parameters within 15 %'
        )
        print_records(rows, title)
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
    rows = [
        {
            'noise': f'{level["noise"]:g}',
            'estimator': name,
            **_errors(level[name]),
            'limits reached': f'{level[name]["active"]:.1f}',
        }
        for level in content['limits']['levels']
        for name in ('gauss_markov', 'feasible')
    ]
    print_records(
        rows,
        f'{content["limits"]["robot"]}: relative absolute error on another motion: of the '
        'exact motion against noise-free forces, and against measured ones',
    )
    for level in content['limits']['levels']:
        ratio, measured, cost = (
            level[key] for key in ('error_ratio', 'error_measured_ratio', 'cpu_time')
        )
        sys.stdout.write(
            f'noise {level["noise"]:g}: error with limits over that without {ratio["median"]:.3f} '
            f'(median), {ratio["largest"]:.3f} (largest of {level["runs"]}); against measured '
            f'forces {measured["median"]:.3f}, {measured["largest"]:.3f}; CPU time '
            f'{cost["shared"]:.3f} s with shared designs, {cost["each"]:.3f} s without\n'
        )
    friction = content['friction']
    names = ('gauss_markov', 'feasible', *content['origin']['options']['laws'])
    keys = ('error_lower', 'error_measured_lower')
    rows = [
        {
            'friction': name,
            **_errors(each),
            'lower than feasible [%]': ', '.join(
                f'{100 * friction[name][key]:.1f}' for key in keys
            ),
        }
        for name, each in ((name, friction[name]) for name in names)
    ]
    sys.stdout.write('\n')
    print_records(rows, f'{friction["robot"]} with Stribeck friction, {friction["runs"]} runs')


def _errors(found: Content) -> dict[str, str]:
    return {
        'physical [%]': f'{100 * found["physical"]:.0f}',
        'error [%]': f'{100 * found["error"]:.2f}',
        'against measured [%]': f'{100 * found["error_measured"]:.2f}',
    }


def print_payload(content: Content) -> None:
    """Print one row for each of the things that may be known."""

    def percent(figures: Content, key: str) -> float | None:
        value = figures.get(key)
        return None if value is None else 100 * value

    rows = [
        {
            'known besides the currents': CASES[case],
            'mass error, rms [%]': percent(each, 'mass_rms'),
            'largest [%]': percent(each, 'mass_largest'),
            'mean [%]': percent(each, 'mass_bias'),
            '+- [%]': percent(each, 'mass_bias_deviation'),
            'reported sd [%]': percent(each, 'mass_deviation'),
            'reported / rms': each.get('reported_to_observed'),
            f'within {100 * ACCEPTED_ERROR:g} % [%]': percent(each, 'within_limit'),
            'centre rms [mm]': 1000 * each['centre_rms'],
            'constants rms [%]': percent(each, 'constant_rms'),
            'reported [%]': percent(each, 'constant_deviation'),
        }
        for case, each in content['cases'].items()
    ]
    title = (
        f'payload of {content["mass"]:g} kg on {content["robot"]}, force constants off by up '
        f'to {100 * content["spread"]:g} %, {content["runs"]} runs, {content["periods"]} '
        f'periods ({content["duration"]:.3g} s) each recording, plant: {content["plant"]}'
    )
    print_records(rows, title)
    alone = content['without_payload']
    sys.stdout.write(
        '\nwithout any payload: ratios of the force constants off by '
        f'{100 * alone["ratio_rms"]:.3g} % rms (reported {100 * alone["ratio_deviation"]:.3g} '
        f'%), standard deviation of their common factor {alone["common_deviation"]:g}\n'
    )


def print_pendulum(content: Content) -> None:
    """Print the errors of each estimator, and how often the UKF is better."""
    quantities = [f'{name} [%]' for name in (*content['parameters'], 'm1/M', 'm2/M')]
    rows = [
        {
            'noise': f'{100 * case["noise"]:g} %',
            'scale of the masses': case['scale'],
            'estimator': case['estimator'],
            **{
                name: 100 * error
                for name, error in zip(
                    quantities, [*case['errors'], *case['ratio_errors']], strict=True
                )
            },
            'CPU time [s]': case['time'],
        }
        for case in content['cases']
    ]
    print_records(
        rows,
        f'errors (root mean square of {content["runs"]} runs where there is noise) after one pass '
        f'through {content["samples"]} samples',
    )
    noisy = {(c['scale'], c['estimator']): c['largest'] for c in content['cases'] if c['noise']}
    sys.stdout.write('\n')
    sources = {
        START_SCALE: 'total mass of the start',
        WEIGHED: 'total mass weighed',
        PUSHED: 'pushed by a known force',
    }
    for scale, source in sources.items():
        pairs = zip(noisy[scale, 'ukf'], noisy[scale, 'ls'], strict=True)
        better = sum(ukf < ls for ukf, ls in pairs)
        sys.stdout.write(
            f'largest error of a parameter, {source}: smaller by the UKF than by least '
            f'squares in {better} of {content["runs"]} runs with noise\n'
        )


def print_uf_pkm(content: Content) -> None:
    """Print the masses without and with noise."""
    rows = [
        {
            'noise': f'{100 * case["noise"]:g} %',
            'runs': case['runs'],
            'mass': name,
            'true [kg]': case['true'][name],
            'mean found [kg]': case['values'][name],
            'reported deviation [kg]': case['standard_deviation'][name],
            'error, rms [%]': 100 * case['errors'][name],
            'worst [%]': 100 * case['worst'][name],
            'CPU time [s]': case['time'],
        }
        for case in content['cases']
        for name in case['true']
    ]
    print_records(rows)


VIEWS: dict[str, Callable[[Content], None]] = {
    'excitation': print_excitation,
    'conditioning': print_conditioning,
    'estimators': print_estimators,
    'feasible': print_feasible,
    'ellipsoid': print_ellipsoid,
    'dirty': print_dirty,
    'pendulum': print_pendulum,
    'uf_pkm': print_uf_pkm,
    'payload': print_payload,
}
