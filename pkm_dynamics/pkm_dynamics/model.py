"""`ClosedChainModel`: kinematics and dynamics of any described closed chain, in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description, with_drive_terms, with_load_friction
from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.description import frozen
from pkm_description.errors import UnderactuatedError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.drive_distribution import DriveDistribution
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.equations.forward_dynamics import Accelerations, forward_dynamics, mass_matrix
from pkm_dynamics.equations.wrench import PlatformWrench
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.parameters.base_parameters import BaseParameters, build_base_parameters
from pkm_dynamics.parameters.null_space import NullSpace, build_null_space
from pkm_dynamics.parameters.parameter_table import checked_parameters


class ClosedChainModel(DynamicModel):
    """Kinematics and dynamics of a closed chain.

    What it does with positions and motions stands in `KinematicModel`, forces and their
    regressor in `DynamicModel`; functions below this class take one of these.

    Parameters
    ----------
    description : Description
        A checked description (`pkm_description.load`).
    load_parameters : (n_p,), optional
        Standard parameters from which the loads of the joints follow whose friction grows with
        them; the description's when absent.

    Attributes
    ----------
    actuated_joints : list of str
        The order of every (N, n_a) array.
    joint_names : list of str
        All scalar joints: the order of every (N, n_j) array.
    parameter_names, parameter_units, parameter_kinds : list of str
        Standard parameters, then friction, rotor inertias, forces of the drives by their
        position, and load factors of friction (n_p).
    nominal_parameters : numpy.ndarray
        Their values in the description (n_p,).
    home_position (3,) [m], home_rotation (3, 3), home_actuators (n_a,) [m, rad]
        The configuration where the mechanism is at home.
    lower, upper, velocity_limit, force_limit : numpy.ndarray
        Limits of the actuated joints (n_a,), infinite where none is declared.
    force_constants : numpy.ndarray
        [N/A, N m/A] (n_a,), nan where unknown.
    """

    def __init__(self, description: Description, load_parameters: ArrayLike | None = None) -> None:
        super().__init__(description, load_parameters)
        if description.followers:  # of a robot with more drives
            self.force_limit = frozen(DriveDistribution(self).force_box())
        self._base: dict[tuple[bool, bool | str], BaseParameters] = {}

    def with_drive_terms(self, terms: Mapping[str, Any] | Sequence[str] | str) -> ClosedChainModel:
        """Return the model with further forces of its drives by position: offset, spring, ripple.

        `terms` as of `pkm_description.with_drive_terms`, which also says what is raised.
        """
        return self._of(with_drive_terms(self.description, terms))

    def with_load_friction(
        self, factors: Mapping[str, float] | Sequence[str] | str
    ) -> ClosedChainModel:
        """Return the model with friction that grows with the load of its joints.

        `factors` as of `pkm_description.with_load_friction`, which also says what is raised.
        """
        refuse_redundant_actuation(self.description, 'friction by load')
        return self._of(with_load_friction(self.description, factors))

    def _of(self, description: Description) -> ClosedChainModel:
        """Model of a robot of which more is modelled, with the loads that this one has."""
        model = ClosedChainModel(description)
        if np.array_equal(self.load_parameters, self.nominal_parameters):
            return model
        own = dict(zip(self.parameter_names, self.load_parameters.tolist(), strict=True))
        nominal = zip(model.parameter_names, model.nominal_parameters.tolist(), strict=True)
        return model.with_load_parameters([own.get(name, value) for name, value in nominal])

    def with_load_parameters(self, parameters: ArrayLike) -> ClosedChainModel:
        """Return the model with the loads of its joints from other standard parameters (n_p,).

        The base parameters stay: what forces show of bodies does not depend on the loads.
        """
        model: ClosedChainModel = object.__new__(type(self))
        model.__dict__.update(self.__dict__)
        model.load_parameters = checked_parameters(parameters, self.nominal_parameters)
        model.load_parameters.setflags(write=False)
        model._base = {key: replace(base, model=model) for key, base in self._base.items()}
        return model

    def forward_dynamics(
        self,
        state: PlatformMotion,
        forces: ArrayLike,
        parameters: ArrayLike | None = None,
        wrench: PlatformWrench | None = None,
    ) -> Accelerations:
        """Accelerations of a state under actuator forces (N, n_a); see `forward_dynamics`."""
        return forward_dynamics(self, state, forces, parameters, wrench)

    def mass_matrix(self, state: PlatformMotion, parameters: ArrayLike | None = None) -> Floats:
        """Inertia that the actuators feel (N, n_a, n_a) [kg, kg m, kg m^2]."""
        return mass_matrix(self, state, parameters)

    def base_parameters(self, shared: bool = False, reduced: bool | str = False) -> BaseParameters:
        """Identifiable combinations of the standard parameters.

        With `shared`, links and joints of one design share their parameters; with
        `reduced`, those that the description declares zero or equal are so, or those of
        one of its `reduced_models`, by name.
        """
        key = (bool(shared), reduced if isinstance(reduced, str) else bool(reduced))
        if key not in self._base:
            self._base[key] = build_base_parameters(self, *key, self._null_space)
        return self._base[key]

    @cached_property
    def _null_space(self) -> NullSpace:
        return build_null_space(self)


def require_drives(model: ClosedChainModel, use: str) -> None:
    """Refuse robots without a drive for each degree of freedom; says what `use` needs it.

    Raises UnderactuatedError where one has none.
    """
    names = ', '.join(f"'{name}'" for name in model.free_joints)
    if names:
        raise UnderactuatedError(
            f"robot '{model.description.name}' cannot be used for {use}: joint {names} is free "
            '(no drive), so not every motion can be commanded; its data can be identified'
        )
