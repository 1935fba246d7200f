"""`DynamicModel`: actuator forces of a closed chain and their regressor, in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.load_friction import LoadFriction
from pkm_dynamics.kernels import forces as force_kernels
from pkm_dynamics.kinematics.kinematic_model import KinematicModel
from pkm_dynamics.layout import Code
from pkm_dynamics.motion import JointStates, PlatformMotion, samples
from pkm_dynamics.parameters.parameter_table import checked_parameters


class DynamicModel(KinematicModel):
    """Inverse dynamics of a closed chain.

    Forces are linear in the parameters: Q_a = regressor(motion) @ parameters. The
    spanning tree's forces are projected to the actuators by virtual power, so the model
    holds for any mechanism that the description accepts. Where friction grows with the load
    of a joint, that load is the one of `load_parameters`, whatever the parameters are.
    """

    def __init__(self, description: Description, load_parameters: ArrayLike | None = None) -> None:
        super().__init__(description)
        self.load_parameters = checked_parameters(load_parameters, self.nominal_parameters)
        self.load_parameters.setflags(write=False)
        self.load_friction = LoadFriction(self)

    def __reduce__(self) -> tuple[type[DynamicModel], tuple[Any, ...]]:
        return type(self), (self.description, self.load_parameters)

    def inverse_dynamics(
        self, motion: PlatformMotion, parameters: ArrayLike | None = None
    ) -> Floats:
        """Actuator forces (N, n_a) [N, N m] of a motion, positive along positive velocity.

        `parameters` (n_p,) are standard parameters; the description's when absent. Friction
        with a past follows the states of the drives that the motion has (`with_drive_states`);
        without them it slides, with the smoothed sign of the velocity.
        """
        return self.states_and_forces(motion, parameters)[1]

    def states_and_forces(
        self, motion: PlatformMotion, parameters: ArrayLike | None = None
    ) -> tuple[JointStates, Floats]:
        """`joint_states` and `inverse_dynamics` of a motion in one pass, for control loops."""
        joints, forces = self.states_and_sliding_forces(motion, parameters)
        values = self.nominal_parameters if parameters is None else np.asarray(parameters)
        velocities = self._actuated(joints.velocities)
        return joints, forces + self.past_forces(motion, velocities, values)

    def past_forces(
        self, motion: PlatformMotion, velocities: Floats, values: Floats
    ) -> Floats | float:
        """Forces (N, n_a) that friction with a past adds to that which slides, 0 without states.

        At velocities (N, n_a) of the actuators, for standard parameters (n_p,).
        """
        past = self.past_of(motion)
        if past is None:
            return 0.0
        own = values[self.drive_columns]
        return self.drive_states.past_forces(values, past, velocities, self.drive_forces, own)

    def states_and_sliding_forces(
        self, motion: PlatformMotion, parameters: ArrayLike | None = None
    ) -> tuple[JointStates, Floats]:
        """Return the same with friction that has no past: states of the drives do not count."""
        values = self.counting_parameters(parameters)
        compiled = self.mechanism.n_parameters
        mode, joints, *state = self._state(motion)
        velocity, acceleration, forces = force_kernels.states_and_forces(
            self._layout, self._force_code(), mode, joints, *state, values[:compiled]
        )
        self._refuse_singular(forces)
        if self.drive_forces.names:
            forces += self.drive_forces.forces(self._actuated(joints), values[self.drive_columns])
        states = JointStates(joints, velocity, acceleration)
        factors = values[self.load_friction.columns_of]
        if factors.any():
            forces += self.load_forces(motion, states, factors)
        return states, forces

    def load_forces(self, motion: PlatformMotion, states: JointStates, factors: Floats) -> Floats:
        """Forces (N, n_a) of load friction with factors (n_l,), at loads of `load_parameters`."""
        return self.load_friction.forces(motion, states, self.load_parameters, factors)

    def with_drive_states(
        self,
        motion: PlatformMotion,
        time: ArrayLike,
        start: ArrayLike | None = None,
        settled: bool = False,
    ) -> PlatformMotion:
        """Return a motion along `time` (N,) [s] with the states of the drives there.

        (N, n_a + n_w): of presliding the deflection of the bristles over that at which a joint
        breaks away, then the powers [W] of drives that warm up. `start` (n_a + n_w,) is the
        state at the first sample, unloaded and as the description says by default; `settled`:
        the samples are one period of a motion that has gone on for long. Raises TrajectoryError
        where a shape is wrong, a number is not finite or the time does not increase.
        """
        times = samples(time, 'time', (), len(motion))
        if np.any(np.diff(times) <= 0.0):
            raise TrajectoryError('the time of a motion with states of drives must increase')
        if start is not None:
            given, shape = np.asarray(start)[None], (self.drive_states.size,)
            start = samples(given, 'start of the drives', shape)[0]
        filled = self.with_joint_states(motion)
        q, qd, _ = self.actuator_states(filled)
        filled.drive_states = self.drive_states.along(times, q, qd, start, settled)
        return filled

    def regressor(self, motion: PlatformMotion) -> Floats:
        """Force per standard parameter (N, n_a, n_p): regressor @ parameters are the forces."""
        mode, *state = self._state(motion)
        code = self._motion_code(mode, 'columns', 'inertial')
        regressor = force_kernels.regressor(self._layout, code, mode, *state)
        self._refuse_singular(regressor[:, 0])
        self.count_averages(regressor)
        heat = None
        if (past := self.past_of(motion)) is not None:
            self.drive_states.write(regressor, past)
            velocities = self.actuator_states(motion).velocities
            heat = self.drive_states.heat(past, velocities)
        further = [regressor]
        if self.drive_forces.names:
            further.append(self.drive_forces.columns(self._actuated(state[0]), heat))
        if len(self.load_friction):
            bodies = self.body_motion(motion)
            further.append(self.load_friction.columns(bodies, self.load_parameters))
        return np.concatenate(further, axis=2) if len(further) > 1 else regressor

    def past_of(self, motion: PlatformMotion) -> Floats | None:
        """States (N, n_a + n_w) of the drives that a motion has, None where they do not count."""
        past, size = motion.drive_states, self.drive_states.size
        if past is None or not self.drive_states:
            return None
        if past.shape[1] != size:
            raise TrajectoryError(
                f'drive_states of the motion has {past.shape[1]} columns, the drives of robot '
                f"'{self.description.name}' have {size} states"
            )
        return past

    def _force_code(self) -> Code:
        inline = self._programs.inline
        return self._programs.code(*(('dynamics',) if inline else ('systems', 'bias', 'forces')))

    def _refuse_singular(self, forces: Floats) -> None:
        """Refuse forces (N, k) that are nan, as loops solved outside the code leave them."""
        if not (self._programs.inline or np.isfinite(forces.sum())):
            self._positions.refuse_singular(np.asarray(np.isnan(forces).any(axis=1)))
