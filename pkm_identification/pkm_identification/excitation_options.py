"""Options of a design of an excitation, each declared once; see `pkm_identification.options`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import nextafter

from pkm_description.errors import TrajectoryError
from pkm_identification.option import POSITIVE, Option, Values, choice, number, whole

FRACTION = Values('a fraction, at least 0 and below 1', (float,), low=0.0, high=nextafter(1.0, 0.0))
SHARE = Values('a fraction, above 0 and at most 1', (float,), low=nextafter(0.0, 1.0), high=1.0)
CRITERIA = ('d_optimal', 'a_optimal', 'e_optimal', 'condition_number', 'condition_number_scaled')
NOISE = Option(
    'noise',
    choice('unit', 'simulated'),
    'of the forces: unit variance, or the covariance of the simulated robot [N^2]',
    'unit',
    error=TrajectoryError,
)


_option = partial(Option, error=TrajectoryError)
SEARCH = (
    _option('harmonics', whole(1), 'of each coordinate', 5, '1'),
    _option('period', POSITIVE, 'of the motion', None, 's', 'free, found by the search'),
    _option('starts', whole(0), 'optimised starts', 8, '1'),
    _option('iterations', whole(1), 'steps of each start', 60, '1'),
    _option(
        'candidates', whole(1), 'random trajectories that a random start is the best of', 2, '1'
    ),
    _option('seed', whole(0), 'of the search', 0, '1'),
    _option('workers', whole(1), 'processes; no effect on the result', None, '1', 'one a core'),
)  # keywords of `design_excitation`
_of_servo = 'of each axis under its servo'
SERVO = (
    _option('bandwidth', POSITIVE, f'natural frequency {_of_servo}', 10.0, 'Hz'),
    _option('damping', POSITIVE, f'damping ratio {_of_servo}', 0.7, '1'),
    _option('gain_scale', POSITIVE, 'factor on both gains of the servo', 1.0, '1'),
    _option(
        *('max_error', POSITIVE, 'position error of a joint that ends a motion', None, 'm, rad'),
        'by the unit and the stroke of each joint',
    ),
)  # that follows a motion without a feedforward
SERVO_OF_DESIGN = tuple(
    replace(each, default=None, otherwise=f'that of the design, else {each.default_text}')
    for each in SERVO
)
# Limits of a first motion, for a robot whose masses may be half or twice those of its description:
# small, slow beside its servo, with room for forces and errors twice as large.
UNKNOWN = {
    'reach': 0.1,
    'force_uncertainty': 1.0,
    'error_margin': 0.5,
    'velocity_margin': 0.5,
    'frequency': 3.0,
}
LIMITS = (
    _option('force_margin', FRACTION, 'fraction of the force limits left free', 0.25, '1'),
    _option('velocity_margin', FRACTION, 'fraction of the velocity limits left free', 0.05, '1'),
    _option(
        'stroke_margin', FRACTION, 'fraction of each range, at either end, left free', 0.04, '1'
    ),
    _option('reach', SHARE, 'largest way from home, as a fraction of the stroke', 1.0, '1'),
    _option('force_uncertainty', number(0.0), 'relative error of the nominal forces', 0.0, '1'),
    _option(
        'acceleration', POSITIVE, 'largest of any actuator', None, 'm/s^2, rad/s^2', 'no limit'
    ),
    _option('aperture', POSITIVE, 'largest of spherical joints', None, 'rad', "the description's"),
    _option('clearance', number(0.0), 'least distance of struts and platform', 0.005, 'm'),
    _option('frequency', POSITIVE, 'highest of the motion', None, 'Hz', "the servo's bandwidth"),
    *SERVO,
    _option(
        'error_margin',
        FRACTION,
        'fraction of position errors and forces of the servo left free',
        0.2,
        '1',
    ),
)  # fields of `DesignLimits`
