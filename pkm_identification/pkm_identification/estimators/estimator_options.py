"""Options that one estimator has of its own; those of all are in `pkm_identification.options`."""

from __future__ import annotations

from collections.abc import Mapping

from pkm_description.errors import EstimationError
from pkm_identification.option import FLAG, POSITIVE, Option, Values, choice, number, whole

ONE_OR_PER_AXIS = Values('a number, or a list of one an axis', (float, list))
RANGE = Values('a value or [lowest, highest]', (float, list))
DATASETS = Values('a number of a dataset, or a list of such', (int, list))
BOUND = Values('a positive number, a list of one an axis, or by joint', (float, list, dict))
REFERENCE = Values('a trajectory, the file of one or of a design, or shipped', (str, list))
FEEDFORWARD = Values('none, nominal, a model file or a result', (str, dict))

_POSITION_NOISE = Option(
    'position_noise',
    ONE_OR_PER_AXIS,
    'standard deviation of a position',
    unit='m, rad',
    otherwise='from the spread',
)
_MARGIN = Option(
    'margin',
    number(0.0, 1.0, ends=False),
    "least eigenvalue of a pseudo-inertia, in units of the nominal body's mass and size",
    1e-6,
    '1',
)
_MASSES = Option(
    'masses',
    Values('a mapping {link or pattern: mass or [lowest, highest]}', (dict,)),
    'limits of masses: `{link or pattern: mass or [lowest, highest]}`',
    unit='kg',
)
_TOTAL_MASS = Option('total_mass', RANGE, 'of all bodies: mass or [lowest, highest]', unit='kg')
_HISTORY = Option('history', whole(1), "estimates that `diagnostics['history']` keeps", 200, '1')
_INITIAL_DEVIATION = Option(
    'initial_deviation',
    POSITIVE,
    'standard deviation of the start, in sizes of the parameters',
    10.0,
    '1',
)
_HUBER = Option(
    'huber', POSITIVE, 'innovations beyond so many standard deviations count less', unit='1'
)


def _iterations(default: int) -> Option:
    return Option('max_iterations', whole(1), 'until it must have converged', default, '1')


def _tolerance(default: float) -> Option:
    text = 'last change of the parameters, in standard deviations'
    return Option('tolerance', POSITIVE, text, default, '1')


def _one_of(name: str, text: str, *words: str) -> Option:
    """Option that takes one of some words, the first by default."""
    values = choice(*words)
    return Option(name, values, f'{text}: {values.what}', words[0])


_FILTER = (
    Option(
        'measurement',
        choice('force', 'energy'),
        'of the rows: force, or energy (work between samples, without accelerations)',
        'force',
    ),
    Option(
        'process',
        number(0.0, float('inf'), 'none', 'robbins_monro'),
        'steps of the parameters: none, robbins_monro or their standard deviation in sizes of the '
        'parameters',
        'none',
        '1',
    ),
    Option('walk_gain', number(0.0, 1.0, ends=False), 'of Robbins and Monro', 1e-3, '1'),
    _one_of('order', 'of the rows', 'original', 'random', 'spread'),
    Option('passes', whole(1), 'over the rows', 1, '1'),
    _INITIAL_DEVIATION,
    Option('seed', whole(0), 'of the random order', 0, '1'),
    _HISTORY,
)
ESTIMATORS: Mapping[str, tuple[Option, ...]] = {
    'ls': (),
    'wls': (),
    'gauss_markov': (),
    'maximum_likelihood': (_POSITION_NOISE, _tolerance(0.01), _iterations(50)),
    'irls': (
        Option('tuning', POSITIVE, 'of Huber, in standard deviations', 1.345, '1'),
        _iterations(500),
    ),
    'iv': (),
    'ekf': _FILTER,
    'ukf': (
        _FILTER[0],
        Option('alpha', POSITIVE, 'spread of the sigma points', 1e-3, '1'),
        Option('beta', number(), 'weight of the central point in the covariance', 2.0, '1'),
        Option('kappa', number(), 'further spread', unit='1', otherwise='3 - n'),
        *_FILTER[1:],
    ),
    'staged': (
        _one_of('inner', 'estimator of each stage', 'wls', 'ukf'),
        Option(
            'last',
            choice('1-A', '1-B', '2-A', '2-B', '3'),
            'stage that is returned: 1-A, 1-B, 2-A, 2-B or 3',
            '3',
        ),
        Option(
            'friction_data',
            DATASETS,
            'numbers of the datasets for the stages A (slow strokes)',
            otherwise='all',
        ),
        Option(
            'inertia_data',
            DATASETS,
            'numbers of the datasets for the stages B (fast motions)',
            otherwise='all',
        ),
    ),
    'recursive': (
        Option('forgetting', number(0.0, 1.0), 'factor of older samples, a sample', 1.0, '1'),
        _HUBER,
        _INITIAL_DEVIATION,
        _HISTORY,
    ),
    'tls': (_POSITION_NOISE,),
    'ellipsoid': (
        Option(
            'bound',
            BOUND,
            'of the errors in units of `bound_of`: one for all axes, one an axis or '
            '`{joint: bound}`',
            otherwise='4; of noise the first of 4, 5, 6 and 8 that no larger share than `outliers` '
            'contradicts',
        ),
        Option(
            'bound_of',
            choice('noise', 'force', 'limit', 'range'),
            'noise (standard deviations of the residuals), force [N, N m], limit [% of the '
            "actuator's largest force], range [% of half the range of the measured forces]",
            'noise',
        ),
        _one_of('bound_at', 'where the bounds hold', 'samples', 'rows'),
        Option(
            'periods',
            choice('mean', 'each'),
            'of periodic data: bounds of the mean period, or of each',
            'mean',
        ),
        Option('passes', whole(1), 'over the strips, at most', 50, '1'),
        Option('tolerance', number(0.0), 'change of the volume that ends the passes', 2e-3, '1'),
        Option('initial_radius', POSITIVE, 'of the start, in sizes of the parameters', 100.0, '1'),
        Option('cut', FLAG, 'strips are narrowed to what the ellipsoid leaves of them', True),
        Option(
            'outliers',
            number(0.0, 1.0),
            'share of the samples that may contradict the others: these few are left out, '
            'and a warning names them; of more, it says that the bounds do not hold',
            0.01,
            '1',
        ),
        Option('force_bound', BOUND, 'short for `bound` with `bound_of=force`', unit='N, N m'),
    ),
    'feasible': (
        _MARGIN,
        _MASSES,
        _TOTAL_MASS,
        Option(
            'nominal_spread',
            number(0.0, float('inf'), 'evidence', ends=False),
            'relative standard deviation of the bodies about the nominal ones, as a prior; '
            'evidence: that under which the data are most probable',
            unit='1',
        ),
    ),
    'nonlinear_friction': (
        Option(
            'law',
            Values('stribeck, atan, power, coulomb_viscous or a mapping', (str, dict)),
            'stribeck, atan, power or coulomb_viscous; or `{joint or pattern: law}`',
            'stribeck',
        ),
        Option('per_axis', FLAG, 'a law of its own for each drive', False),
        Option('exponent', POSITIVE, 'of the Stribeck law', unit='1', otherwise='estimated'),
        Option('starts', whole(1), 'of the search', 6, '1'),
        _iterations(50),
        _MARGIN,
        _MASSES,
        _TOTAL_MASS,
    ),
    'output_error': (
        Option(
            'reference',
            REFERENCE,
            'motion that was commanded: its trajectory, the file of one or of a design, or shipped',
            otherwise='of the recording',
        ),
        Option('feedforward', FEEDFORWARD, 'of the servo: none, nominal or a model file', 'none'),
        Option(
            'proportional',
            ONE_OR_PER_AXIS,
            'gain of the servo',
            unit='N/m, N m/rad',
            otherwise='by `bandwidth`',
        ),
        Option(
            'derivative',
            ONE_OR_PER_AXIS,
            'gain of the servo',
            unit='N s/m, N m s/rad',
            otherwise='by `damping`',
        ),
        Option('bandwidth', POSITIVE, 'of the servo', 10.0, 'Hz'),
        Option('damping', POSITIVE, 'of the servo', 0.7, '1'),
        Option('gain_scale', POSITIVE, 'of both gains', 1.0, '1'),
        Option('velocity_cutoff', POSITIVE, "of the servo's velocities", 150.0, 'Hz'),
        Option('control_rate', POSITIVE, 'of the servo', 1000.0, 'Hz'),
        Option(
            'control_delay',
            number(0.0),
            'from a measurement to its force',
            unit='s',
            otherwise='of the stamps',
        ),
        Option('rate', POSITIVE, 'of the simulation', unit='Hz', otherwise='of the recording'),
        _one_of('jacobian', 'of the search', 'closed_loop', 'regressor'),
        _one_of('start', 'of the search', 'gauss_markov', 'nominal'),
        _tolerance(0.01),
        _iterations(30),
    ),
}


def estimators() -> list[str]:
    """Names of the estimators."""
    return list(ESTIMATORS)


def require_estimator(name: str) -> None:
    """Raise `EstimationError` with the valid names where there is no such estimator."""
    if name not in ESTIMATORS:
        raise EstimationError(f"unknown estimator '{name}'; valid are {', '.join(ESTIMATORS)}")
