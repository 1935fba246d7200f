"""A body fixed to the platform, and drives with other force constants: a changed robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike

from pkm_description.checks import inertial_problem
from pkm_description.description import Array, Description, Inertial, frozen
from pkm_description.errors import DescriptionError
from pkm_description.untrusted.bounded_yaml import load_yaml
from pkm_description.xml_elements import suggestion

QUANTITIES = ('mass', 'centre', 'inertia')
KEYS = (*QUANTITIES, *(f'{name}_deviation' for name in QUANTITIES), 'name', 'link')
PLATFORM = 'platform'
STANDARD = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
PARTS = (('mass', slice(0, 1)), ('centre', slice(1, 4)), ('inertia', slice(4, 10)))


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body fixed to a link, as well as it is known.

    What is not given is not known: an identification estimates it. A deviation of zero
    means known exactly.

    Attributes
    ----------
    mass
        [kg].
    centre
        Centre of mass (3,) [m] in the frame of the link.
    inertia
        (3, 3) [kg m^2] about the centre of mass, in the axes of the link's frame. Also
        taken: (6,) Ixx, Ixy, Ixz, Iyy, Iyz, Izz; (3,) the diagonal; 0 for a point mass.
    mass_deviation, centre_deviation, inertia_deviation
        Standard deviations; one number, or (3,) of the centre's components and (6,) of the
        inertia's.
    name
        For messages and tables.
    link
        That it is fixed to; `platform` stands for the description's platform.
    """

    mass: float | None = None
    centre: ArrayLike | None = None
    inertia: ArrayLike | None = None
    mass_deviation: float = 0.0
    centre_deviation: ArrayLike = 0.0
    inertia_deviation: ArrayLike = 0.0
    name: str = 'payload'
    link: str = PLATFORM

    def __post_init__(self) -> None:
        """Copy, freeze and check the numbers; raises DescriptionError."""
        if self.mass is not None:
            object.__setattr__(self, 'mass', float(self._numbers('mass', self.mass, ((),))))
        if self.centre is not None:
            object.__setattr__(self, 'centre', self._numbers('centre', self.centre, ((3,),)))
        if self.inertia is not None:
            object.__setattr__(self, 'inertia', self._full_inertia(self.inertia))
        for name, shape in (('mass', ()), ('centre', (3,)), ('inertia', (6,))):
            key = f'{name}_deviation'
            given = self._numbers(key, getattr(self, key), ((), shape))
            if (given < 0).any():
                raise DescriptionError(f"payload '{self.name}': {key} must not be negative")
            value = np.broadcast_to(given, shape)
            object.__setattr__(self, key, float(value) if shape == () else frozen(value))
        self._check_physical()

    @property
    def is_known(self) -> bool:
        """Whether mass, centre and inertia are given, exactly or with an uncertainty."""
        return all(getattr(self, name) is not None for name in QUANTITIES)

    @property
    def inertial(self) -> Inertial:
        """The body; raises DescriptionError where something of it is not known."""
        missing = [name for name in QUANTITIES if getattr(self, name) is None]
        if missing:
            raise DescriptionError(f"payload '{self.name}': {' and '.join(missing)} not known")
        assert self.mass is not None
        return Inertial(self.mass, frozen(self.centre), frozen(self.inertia))

    @property
    def values(self) -> Array:
        """Mass, centre, inertia Ixx, Ixy, Ixz, Iyy, Iyz, Izz (10,); nan where not known."""
        inertia = None if self.inertia is None else np.asarray(self.inertia)[np.triu_indices(3)]
        values = np.full(10, np.nan)
        for (_, part), value in zip(PARTS, (self.mass, self.centre, inertia), strict=True):
            values[part] = np.nan if value is None else value
        return values

    @property
    def deviations(self) -> Array:
        """Standard deviations (10,) of `values`, infinite where not known."""
        given = np.hstack([self.mass_deviation, self.centre_deviation, self.inertia_deviation])
        return np.where(np.isnan(self.values), np.inf, given.astype(float))

    def to_mapping(self) -> dict[str, Any]:
        """Return what is known as numbers and texts for YAML and JSON."""
        content: dict[str, Any] = {'name': self.name, 'link': self.link}
        for name, part in PARTS:
            chosen = 0 if name == 'mass' else part
            if getattr(self, name) is not None:
                content[name] = self.values[chosen].tolist()
                if self.deviations[part].any():
                    content[f'{name}_deviation'] = self.deviations[chosen].tolist()
        return content

    def to_text(self) -> str:
        """Return the payload as one line of YAML."""
        return yaml.safe_dump(
            self.to_mapping(), default_flow_style=True, sort_keys=False, width=float('inf')
        ).strip()

    def _numbers(self, name: str, given: Any, shapes: tuple[tuple[int, ...], ...]) -> Array:
        try:
            array = frozen(given)
        except (TypeError, ValueError, OverflowError):
            array = frozen(np.nan)
        if array.shape not in shapes or not np.isfinite(array).all():
            expected = ' or '.join('one' if not s else ' x '.join(map(str, s)) for s in shapes)
            raise DescriptionError(
                f"payload '{self.name}': {name} must be {expected} finite numbers, not {given!r}"
            )
        return array

    def _full_inertia(self, given: Any) -> Array:
        array = self._numbers('inertia', given, ((), (3,), (6,), (3, 3)))
        if array.shape == () and array:
            raise DescriptionError(
                f"payload '{self.name}': inertia as one number can only be 0, a point mass"
            )
        if array.shape in ((), (3,)):
            return frozen(np.diag(np.broadcast_to(array, 3)))
        if array.shape == (6,):
            full = np.zeros((3, 3))
            full[np.triu_indices(3)] = array
            return frozen(full + np.triu(full, 1).T)
        return array

    def _check_physical(self) -> None:
        if self.mass is not None and self.mass < 0:
            raise DescriptionError(f"payload '{self.name}': mass {self.mass:g} kg is negative")
        if not self.is_known or any(np.any(self.deviations[i]) for i in range(10)):
            return  # an estimate may lie outside of what bodies can have by its uncertainty
        problem = inertial_problem(self.inertial)
        if problem:
            raise DescriptionError(f"payload '{self.name}': {problem}")


def payload_of(given: Payload | Mapping[str, Any] | str | None, where: str = '') -> Payload | None:
    """Return a payload from a mapping or its YAML text; None for none.

    Parameters
    ----------
    given
        Keys are the attributes of `Payload`; `none` and the empty text are no payload,
        `unknown` is one of which nothing is known.
    where
        Source, for messages.

    Raises
    ------
    DescriptionError
        A key or a value cannot be used.
    """
    if given is None or isinstance(given, Payload):
        return given
    content: Any = given
    if isinstance(given, str):
        content = load_yaml(given, f'{where}payload', DescriptionError)
    if content is None or content == 'none':
        return None
    if content == 'unknown':
        return Payload()
    if not isinstance(content, Mapping):
        raise DescriptionError(
            f'{where}payload must be none, unknown or a mapping with {", ".join(KEYS)}, '
            f'not {given!r}'
        )
    for key in content:
        if key not in KEYS:
            raise DescriptionError(
                f"{where}payload has no '{key}'{suggestion(str(key), KEYS)}; valid are "
                f'{", ".join(KEYS)}'
            )
    texts = {key: str(content[key]) for key in ('name', 'link') if key in content}
    return Payload(**{**content, **texts})


def with_payload(description: Description, payload: Payload | None) -> Description:
    """Return the robot with a body fixed to it, for a simulated plant.

    The body becomes part of its link, whose parameters are then no longer declared zero.
    The texts of the description, and with them its digest, stay those of the robot
    without it.

    Raises
    ------
    DescriptionError
        Something of the payload is not known, or there is no such link.
    """
    if payload is None:
        return description
    name = description.platform if payload.link == PLATFORM else payload.link
    link = description.link(name)
    whole = payload.inertial if link.inertial is None else joined(link.inertial, payload.inertial)
    links = tuple(
        replace(item, inertial=whole) if item is link else item for item in description.links
    )
    zeros = _without_link(description, name)
    return replace(description, links=links, zero_parameters=zeros)


def _without_link(description: Description, link: str) -> tuple[str, ...]:
    """Patterns of parameters that are zero, those of one link left out."""
    kept: list[str] = []
    bodies = [item.name for item in description.links if item.inertial and item.name != link]
    others = [f'{body}.{name}' for body in bodies for name in STANDARD]
    for pattern in description.zero_parameters:
        named = any(fnmatchcase(f'{link}.{name}', pattern) for name in STANDARD)
        kept += [name for name in others if fnmatchcase(name, pattern)] if named else [pattern]
    return tuple(kept)


def joined(first: Inertial, second: Inertial) -> Inertial:
    """Return two bodies of one frame as one."""
    mass = first.mass + second.mass
    if mass == 0.0:
        return first
    com = (first.mass * first.com + second.mass * second.com) / mass
    inertia = np.zeros((3, 3))
    for body in (first, second):
        arm = body.com - com
        inertia += body.inertia + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Inertial(mass, frozen(com), frozen(inertia))


def with_force_constants(description: Description, constants: Mapping[str, float]) -> Description:
    """Return the robot with other force constants [N/A, N m/A], by joint.

    The texts of the description, and with them its digest, stay as they are.

    Raises
    ------
    DescriptionError
        A joint has no drive, or a constant is not positive.
    """
    driven = description.driven_joints
    for joint, value in constants.items():
        if joint not in driven:
            raise DescriptionError(
                f"robot '{description.name}' has no drive at '{joint}'"
                f'{suggestion(joint, driven)}; drives are at {", ".join(driven)}'
            )
        if not (np.isfinite(value) and value > 0):
            raise DescriptionError(f"force constant {value:g} of '{joint}' must be positive")
    actuators = tuple(
        replace(item, force_constant=float(constants.get(item.joint, item.force_constant)))
        for item in description.actuators
    )
    return replace(description, actuators=actuators)
