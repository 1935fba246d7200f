"""What a simulated plant does beyond rigid bodies: friction extras, noise, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pkm_description import Description
from pkm_description.errors import DescriptionError

Array = NDArray[np.float64]

SECTIONS = ('force_noise', 'position_noise', 'position_resolution', 'cogging', 'stribeck')
SWITCHES = (
    'friction',
    'stribeck',
    'cogging',
    'saturation',
    'force_noise',
    'position_noise',
    'quantisation',
)


@dataclass(frozen=True)
class Stribeck:
    """Extra friction near standstill: (static - coulomb) exp(-(|v|/velocity)^exponent).

    `static` [N, N m] is the break-away friction in place of the Coulomb value,
    `velocity` [m/s, rad/s] where it has decayed to 1/e.
    """

    joint: str
    static: float
    velocity: float
    exponent: float = 2.0


@dataclass(frozen=True)
class PlantEffects:
    """Effects of a simulated plant; every one can be switched off.

    Attributes
    ----------
    friction : bool
        Coulomb and viscous friction of the description, in all joints.
    saturation : bool
        Actuator forces are clipped to the joints' effort limits.
    cogging_amplitude, cogging_period, cogging_phase : numpy.ndarray
        (n_a,) force ripple amplitude sin(2 pi q / period + phase) [N, N m], period in
        the unit of the joint, phase [rad].
    stribeck : tuple of Stribeck
        Stribeck friction of single joints; acts only together with `friction`.
    force_covariance : numpy.ndarray
        (n_a, n_a) covariance of the measured forces of one sample [N^2].
    position_covariance : numpy.ndarray
        (n_a, n_a) covariance of the measured positions of one sample [m^2, rad^2].
    position_resolution : float
        Step of the position sensors [m, rad]; 0 for none.
    """

    friction: bool
    saturation: bool
    cogging_amplitude: Array
    cogging_period: Array
    cogging_phase: Array
    stribeck: tuple[Stribeck, ...]
    force_covariance: Array
    position_covariance: Array
    position_resolution: float

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                value = np.array(value, dtype=float)
                value.setflags(write=False)
                object.__setattr__(self, entry.name, value)

    @classmethod
    def from_description(cls, description: Description) -> PlantEffects:
        """Read the effects from the `simulation` section of a description's sidecar.

        Raises
        ------
        DescriptionError
            If a key is unknown or a value malformed; names it.
        """
        return _Reader(description).read()

    def ideal(self) -> PlantEffects:
        """Return the effects with every one switched off: rigid bodies, exact sensors."""
        return self.switched(**dict.fromkeys(SWITCHES, False))

    def without_unmodelled(self) -> PlantEffects:
        """Return the effects without those no identified model contains: Stribeck, cogging."""
        return self.switched(stribeck=False, cogging=False)

    def switched(self, **switches: bool) -> PlantEffects:
        """Return the effects with the named ones switched off (False) or kept (True).

        Parameters
        ----------
        **switches : bool
            friction, stribeck, cogging, saturation, force_noise, position_noise,
            quantisation.
        """
        unknown = sorted(set(switches) - set(SWITCHES))
        if unknown:
            raise DescriptionError(
                f"unknown plant effect '{unknown[0]}'; the effects are {', '.join(SWITCHES)}"
            )
        neutral: dict[str, tuple[str, Any]] = {
            'friction': ('friction', False),
            'stribeck': ('stribeck', ()),
            'cogging': ('cogging_amplitude', np.zeros_like(self.cogging_amplitude)),
            'saturation': ('saturation', False),
            'force_noise': ('force_covariance', np.zeros_like(self.force_covariance)),
            'position_noise': ('position_covariance', np.zeros_like(self.position_covariance)),
            'quantisation': ('position_resolution', 0.0),
        }
        changes = dict(neutral[name] for name, kept in switches.items() if not kept)
        return replace(self, **changes)


class _Reader:
    def __init__(self, description: Description) -> None:
        self.robot = description.name
        self.actuated = description.actuated_joints
        self.driven = description.driven_joints
        self.scalar = description.scalar_joints
        section = description.simulation
        self.section = self._mapping(section if section is not None else {}, '', SECTIONS)

    def read(self) -> PlantEffects:
        n_a = len(self.actuated)
        section = self.section
        cogging = self._mapping(
            section.get('cogging', {}), 'cogging', ('amplitude', 'period', 'phase')
        )
        amplitude = self._per_joint(cogging.get('amplitude', {}), 'cogging.amplitude', 0.0)
        period = self._per_joint(cogging.get('period', 1.0), 'cogging.period', 1.0)
        if np.any(period <= 0.0):
            self._fail('cogging.period', f'must be positive, got {period.min():g}')
        resolution = self._number(section.get('position_resolution', 0.0), 'position_resolution')
        if resolution < 0.0:
            self._fail('position_resolution', f'must not be negative, got {resolution:g}')
        return PlantEffects(
            friction=True,
            saturation=True,
            cogging_amplitude=amplitude,
            cogging_period=period,
            cogging_phase=self._per_joint(cogging.get('phase', {}), 'cogging.phase', 0.0),
            stribeck=self._stribeck(),
            force_covariance=self._covariance('force_noise', n_a),
            position_covariance=self._covariance('position_noise', n_a),
            position_resolution=resolution,
        )

    def _stribeck(self) -> tuple[Stribeck, ...]:
        result = []
        table = self._mapping(self.section.get('stribeck', {}), 'stribeck', self.scalar)
        for joint, entry in table.items():
            where = f'stribeck.{joint}'
            values = self._mapping(entry, where, ('static', 'velocity', 'exponent'))
            for key in ('static', 'velocity'):
                if key not in values:
                    self._fail(where, f"has no '{key}'")
            numbers = {key: self._number(value, f'{where}.{key}') for key, value in values.items()}
            if min(numbers.values()) <= 0.0:
                self._fail(where, 'needs positive numbers')
            result.append(Stribeck(joint, **numbers))
        return tuple(result)

    def _covariance(self, key: str, n_a: int) -> Array:
        if key not in self.section:
            return np.zeros((n_a, n_a))
        entry = self._mapping(self.section[key], key, ('standard_deviation', 'correlation'))
        if 'standard_deviation' not in entry:
            self._fail(key, "has no 'standard_deviation'")
        deviation = self._array(entry['standard_deviation'], f'{key}.standard_deviation')
        if deviation.shape not in ((), (n_a,)) or np.any(deviation < 0.0):
            self._fail(
                f'{key}.standard_deviation', f'must be one or {n_a} non-negative numbers'
            )
        deviation = np.broadcast_to(deviation, (n_a,))
        correlation = self._array(entry.get('correlation', np.eye(n_a)), f'{key}.correlation')
        where = f'{key}.correlation'
        if correlation.shape != (n_a, n_a):
            self._fail(where, f'must be a {n_a} x {n_a} matrix')
        if not np.allclose(correlation, correlation.T) or not np.allclose(
            np.diag(correlation), 1.0
        ):
            self._fail(where, 'must be symmetric with a diagonal of ones')
        if np.linalg.eigvalsh(correlation)[0] <= 0.0:
            self._fail(where, 'must be positive definite')
        return np.asarray(correlation * np.outer(deviation, deviation), dtype=float)

    def _per_joint(self, value: Any, where: str, default: float) -> Array:
        """Return (n_a,) values given as one number or as {joint: number}; free joints have none."""
        if not isinstance(value, Mapping):
            value = dict.fromkeys(self.driven, self._number(value, where))
        table = self._mapping(value, where, self.driven)
        return np.array(
            [self._number(table.get(joint, default), f'{where}.{joint}') for joint in self.actuated]
        )

    def _mapping(self, value: Any, where: str, valid: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self._fail(where, f'must be a mapping, got {value!r}')
        for key in value:
            if key not in valid:
                self._fail(where, f"has the unknown key '{key}'; valid keys are {', '.join(valid)}")
        result: Mapping[str, Any] = value
        return result

    def _number(self, value: Any, where: str) -> float:
        array = self._array(value, where)
        if array.shape:
            self._fail(where, f'must be one number, got {value!r}')
        return float(array)

    def _array(self, value: Any, where: str) -> Array:
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            self._fail(where, f'must be numeric, got {value!r}')
        if not np.all(np.isfinite(array)):
            self._fail(where, 'must be finite')
        return array

    def _fail(self, where: str, problem: str) -> NoReturn:
        key = f'simulation.{where}' if where else 'simulation'
        raise DescriptionError(f"robot '{self.robot}', {key}: {problem}")
