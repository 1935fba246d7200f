"""Payloads of several runs as columns of the regressor, and what is known of them.

A body fixed to a link adds its ten standard parameters to those of the link, so its
regressor is the link's. Its unknowns are mass m, centre c and inertia I about the centre,
of which the standard parameters are polynomials: m, m c, I + m (|c|^2 1 - c c^T).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_description import Payload
from pkm_description.errors import EstimationError
from pkm_description.payload import PLATFORM, STANDARD
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_identification.arrays import Array, Indices
from pkm_identification.regression.run import LinearParameters

COMPONENTS = ('mass', 'centre.x', 'centre.y', 'centre.z', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
UNITS = ('kg', 'm', 'm', 'm', *['kg m^2'] * 6)
UPPER = np.triu_indices(3)
START = 0.1  # of the link's mass: where the search for an unknown mass begins


def standard_parameters(values: Array) -> Array:
    """Standard parameters (10,) about the link's origin from m, c, I (10,)."""
    mass, centre = values[0], values[1:4]
    shift = mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    return np.concatenate([[mass], mass * centre, values[4:] + shift[UPPER]])


def standard_jacobian(values: Array) -> Array:
    """Derivative (10, 10) of `standard_parameters`."""
    mass, centre = values[0], values[1:4]
    jacobian = np.eye(10)
    jacobian[1:4, 0] = centre
    jacobian[1:4, 1:4] = mass * np.eye(3)
    jacobian[4:, 0] = (centre @ centre * np.eye(3) - np.outer(centre, centre))[UPPER]
    for k, unit in enumerate(np.eye(3)):
        turned = 2 * centre[k] * np.eye(3) - np.outer(unit, centre) - np.outer(centre, unit)
        jacobian[4:, 1 + k] = mass * turned[UPPER]
    return jacobian


@dataclass(frozen=True)
class Bodies:
    """The payloads of some runs; a body of several runs appears once."""

    payloads: tuple[Payload, ...]  # one a body (P)
    labels: tuple[str, ...]  # their names, made different
    runs: tuple[int | None, ...]  # body of each run, None without one
    columns: Indices  # standard parameters of the link (P, 10): indices into the model's
    start: Array  # mass, centre, inertia (P, 10): as known, else where a search begins

    @property
    def count(self) -> int:
        """Number of bodies P."""
        return len(self.payloads)

    @property
    def deviations(self) -> Array:
        """Prior standard deviations (10 P,) of the components, 0 for exact ones."""
        return np.concatenate([np.zeros(0), *(each.deviations for each in self.payloads)])

    @property
    def open(self) -> Indices:
        """Indices (t,) of the components (10 P) that are not known exactly."""
        return np.flatnonzero(self.deviations > 0)

    @property
    def names(self) -> list[str]:
        """Names of all components (10 P)."""
        return [f'{label}.{name}' for label in self.labels for name in COMPONENTS]

    def standard(self, values: Array) -> Array:
        """Standard parameters (10 P,) from mass, centre and inertia (10 P,)."""
        parts = values.reshape(-1, 10)
        return np.concatenate([np.zeros(0), *(standard_parameters(each) for each in parts)])

    def jacobian(self, values: Array) -> Array:
        """Derivative (10 P, t) of `standard` with the open components."""
        whole = np.zeros((10 * self.count, 10 * self.count))
        for k, each in enumerate(values.reshape(-1, 10)):
            block = slice(10 * k, 10 * k + 10)
            whole[block, block] = standard_jacobian(each)
        return whole[:, self.open]

    def forces(
        self, model: ClosedChainModel, motion: PlatformMotion, run: int, values: Array
    ) -> Array:
        """Forces (N, n_a) [N, N m] that the body of a run needs along a motion."""
        body = self.runs[run]
        if body is None:
            return np.zeros((len(motion), len(model.actuated_joints)))
        loaded = np.array(model.nominal_parameters)
        loaded[self.columns[body]] += standard_parameters(values.reshape(-1, 10)[body])
        without = model.inverse_dynamics(motion, model.nominal_parameters)
        return np.asarray(model.inverse_dynamics(motion, loaded) - without)


def build_bodies(model: ClosedChainModel, payloads: Sequence[Payload | None]) -> Bodies:
    """Find the bodies of some runs: payloads of one content are one body.

    EstimationError where a link that carries one is not there or has no inertial parameters.
    """
    bodies: list[Payload] = []
    contents: list[dict[str, Any]] = []
    runs: list[int | None] = []
    for payload in payloads:
        if payload is None:
            runs.append(None)
            continue
        content = payload.to_mapping()
        if content not in contents:
            contents.append(content)
            bodies.append(payload)
        runs.append(contents.index(content))
    labels: list[str] = []
    for body in bodies:
        same = sum(label.split(' ')[0] == body.name for label in labels)
        labels.append(body.name if not same else f'{body.name} {same + 1}')
    columns = [_columns(model, body) for body in bodies]
    start = [_start(model, body, index) for body, index in zip(bodies, columns, strict=True)]
    return Bodies(
        tuple(bodies),
        tuple(labels),
        tuple(runs),
        np.array(columns, dtype=np.int64).reshape(-1, 10),
        np.array(start, dtype=float).reshape(-1, 10),
    )


def _columns(model: ClosedChainModel, payload: Payload) -> list[int]:
    link = payload.link
    if link == PLATFORM:
        link = model.description.platform
    names = list(model.parameter_names)
    wanted = [f'{link}.{name}' for name in STANDARD]
    if not all(name in names for name in wanted):
        links = sorted({name.rpartition('.')[0] for name in names if name.endswith('.Izz')})
        raise EstimationError(
            f"payload '{payload.name}': the description has no link '{link}' with an <inertial>; "
            f'links with one are {", ".join(links)}'
        )
    return [names.index(name) for name in wanted]


def _start(model: ClosedChainModel, payload: Payload, columns: list[int]) -> Array:
    values = payload.values
    guess = np.zeros(10)
    guess[0] = max(START * float(model.nominal_parameters[columns[0]]), 1e-3)
    return np.where(np.isnan(values), guess, values)


def with_payloads(base: BaseParameters, bodies: Bodies, run: int) -> LinearParameters:
    """Base parameters (r), then the standard parameters of all bodies (10 P), for one run.

    Only the body of the run has columns that are not zero.
    """
    loads = np.zeros((len(base.columns), 10 * bodies.count))
    body = bodies.runs[run]
    if body is not None:
        loads[bodies.columns[body], np.arange(10 * body, 10 * body + 10)] = 1.0
    columns = np.concatenate([base.columns, loads], axis=1)
    return LinearParameters([*base.names, *load_names(bodies)], columns, base.model)


def load_names(bodies: Bodies) -> list[str]:
    """Names of the standard parameters of all bodies (10 P)."""
    return [f'{label}.{name}' for label in bodies.labels for name in STANDARD]
