"""Options of a design of an excitation, each declared once; see `pkm_identification.options`."""

from __future__ import annotations

from math import nextafter

from pkm_description.errors import TrajectoryError
from pkm_identification.option import POSITIVE, Option, Values, choice, number, whole

FRACTION = Values('a fraction, at least 0 and below 1', (float,), low=0.0, high=nextafter(1.0, 0.0))
CRITERIA = ('d_optimal', 'a_optimal', 'e_optimal', 'condition_number', 'condition_number_scaled')
NOISE = Option(
    'noise',
    choice('unit', 'simulated'),
    'of the forces: unit variance, or the covariance of the simulated robot [N^2]',
    'unit',
    error=TrajectoryError,
)


def _option(
    name: str,
    values: Values,
    text: str,
    default: float | None = None,
    unit: str = '',
    otherwise: str = '',
) -> Option:
    return Option(name, values, text, default, unit, otherwise, error=TrajectoryError)


SEARCH = (
    _option('harmonics', whole(1), 'of each coordinate', 5, unit='1'),
    _option('period', POSITIVE, 'of the motion', unit='s', otherwise='free, found by the search'),
    _option('starts', whole(0), 'optimised starts', 8, unit='1'),
    _option('iterations', whole(1), 'steps of each start', 60, unit='1'),
    _option(
        'candidates',
        whole(1),
        'random trajectories that a random start is the best of',
        2,
        unit='1',
    ),
    _option('seed', whole(0), 'of the search', 0, unit='1'),
    _option(
        'workers', whole(1), 'processes; no effect on the result', unit='1', otherwise='one a core'
    ),
)  # keywords of `design_excitation`
LIMITS = (
    _option('force_margin', FRACTION, 'fraction of the force limits left free', 0.25, unit='1'),
    _option(
        'velocity_margin', FRACTION, 'fraction of the velocity limits left free', 0.05, unit='1'
    ),
    _option(
        'stroke_margin',
        FRACTION,
        'fraction of each range, at either end, left free',
        0.04,
        unit='1',
    ),
    _option(
        'force_uncertainty', number(0.0), 'relative error of the nominal forces', 0.0, unit='1'
    ),
    _option(
        'acceleration',
        POSITIVE,
        'largest of any actuator',
        unit='m/s^2, rad/s^2',
        otherwise='no limit',
    ),
    _option(
        'aperture',
        POSITIVE,
        'largest of spherical joints',
        unit='rad',
        otherwise="the description's",
    ),
    _option('clearance', number(0.0), 'least distance of struts and platform', 0.005, unit='m'),
    _option('frequency', POSITIVE, 'highest of the motion', unit='Hz', otherwise='no limit'),
)  # fields of `DesignLimits`
