"""The simulated robot: a MuJoCo plant that shares nothing with the identified model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description, DriveTerms, MotorSide
from pkm_description.errors import ExportError, SimulationError
from pkm_description.exporters import build_mjcf
from pkm_description.exporters.motors import is_one_branch, motors_of
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.drive_states import warm_states
from pkm_dynamics.simulation.effects import PlantEffects
from pkm_dynamics.simulation.generalised_forces import (
    COULOMB,
    COULOMB_NEGATIVE,
    VISCOUS,
    FrictionTable,
    MotorFriction,
    PositionTable,
    apply_forces,
)
from pkm_dynamics.simulation.joint_loads import JointLoads
from pkm_dynamics.simulation.mujoco_closures import CutFriction, closed_mobility, stiffen_massless
from pkm_dynamics.simulation.sensors import Sensors


@dataclass(frozen=True)
class PlantSample:
    """What the plant shows after one control interval."""

    time: float  # end of the interval [s]; the instant of `positions`
    positions: Floats  # (n_a,) measured positions [m, rad]
    # (n_a,) measured currents [A], averaged over the interval. For a joint without a force constant
    # the force [N, N m], as if the constant were one
    currents: Floats
    current_time: float  # centre of the instants at which the forces acted [s]
    # (n_a,) noise-free positions [m, rad], velocities [m/s, rad/s] and actuator forces [N, N m],
    # averaged over those instants
    truth_positions: Floats
    truth_velocities: Floats
    truth_forces: Floats
    # (n_a,) forces [N, N m] measured at `time`, where drives measure forces as such
    efforts: Floats | None = field(default=None, kw_only=True)


def of_motors(sample: PlantSample, motors: MotorSide, constants: Floats) -> PlantSample:
    """Return a sample as the motors see it; `constants` (n_a,) are the joints' [N/A, N m/A]."""
    return replace(
        sample,
        positions=motors.motor_positions(sample.positions),
        currents=motors.motor_currents(sample.currents, constants),
        truth_positions=motors.motor_positions(sample.truth_positions),
        truth_velocities=motors.motor_rates(sample.truth_velocities),
        truth_forces=motors.motor_efforts(sample.truth_forces),
        efforts=None if sample.efforts is None else motors.motor_efforts(sample.efforts),
    )


class SimulatedPlant:
    """A closed-chain robot in MuJoCo, driven by actuator forces.

    The state is stepped with `substep`; a command acts over one `step`. MuJoCo's
    semi-implicit Euler method is a leapfrog: the force applied in the substep that
    starts at t_k is the one of the acceleration at t_k. The forces of an interval
    [t, t + step) therefore act at t, t + substep, ..., and the measured current is
    stamped with the mean of these instants, (step - substep) / 2 after t. Friction that
    grows with the load of a joint takes MuJoCo's reactions of the substep before.

    Parameters
    ----------
    description : Description
        The robot.
    effects : PlantEffects, optional
        Effects beyond rigid bodies; by default all that the description declares.
    seed : int
        Seed of the measurement noise.
    step, substep : float
        Control interval and integration step [s].

    Raises
    ------
    SimulationError
        If the steps do not divide, or the substep is too long for the friction.
    """

    def __init__(
        self,
        description: Description,
        effects: PlantEffects | None = None,
        seed: int = 0,
        step: float = 1e-3,
        substep: float = 1e-4,
    ) -> None:
        self.description = description
        self._effects = PlantEffects.from_description(description) if effects is None else effects
        self.actuated_joints = description.actuated_joints
        self.step_time = float(step)
        self.substeps = whole_ratio(step, substep)
        self._substep = step / self.substeps
        _check_rotors(description)
        try:
            text = build_mjcf(
                description, timestep=self._substep, joint_friction=False, shapes=False
            ).text
            self.mujoco_model = mujoco.MjModel.from_xml_string(text)
        except ValueError as error:
            raise ExportError(f"MuJoCo refuses robot '{description.name}': {error}") from error
        stiffen_massless(self.mujoco_model)
        self.mujoco_data = mujoco.MjData(self.mujoco_model)
        self._lay_out()
        self.reset(seed)
        self._check_substep()
        self._apply(np.zeros(len(self.actuated_joints)))  # compiles it before time counts

    @property
    def effects(self) -> PlantEffects:
        """Effects beyond rigid bodies."""
        return self._effects

    @effects.setter
    def effects(self, effects: PlantEffects) -> None:
        self._effects = effects
        self._lay_out()
        self._follow_loads()
        self._sensors.set_effects(effects)

    def reset(self, seed: int | None = None, time: float = 0.0) -> PlantSample:
        """Return to the home configuration at rest, with a new seed of the noise or as before.

        The plant goes on at `time` [s], rounded to whole intervals.
        """
        if seed is not None:
            self._seed = seed
        self._sensors = Sensors(self.description, self.effects, self._seed)
        self._steps = round(time / self.step_time)
        mujoco.mj_resetDataKeyframe(self.mujoco_model, self.mujoco_data, 0)
        mujoco.mj_forward(self.mujoco_model, self.mujoco_data)
        self._bristles[:] = 0.0
        self._heat = np.array([each.start for each in self._warm])
        self._set_viscous()
        self._follow_loads()
        zero = np.zeros(len(self.actuated_joints))
        self._sample = self._measure(self.time, self.positions, zero, zero)
        return self._sample

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._steps * self.step_time

    @property
    def sample(self) -> PlantSample:
        """The latest sample."""
        return self._sample

    @property
    def positions(self) -> Floats:
        """Positions (n_a,) [m, rad] of the actuated joints, without noise."""
        return np.array(self._positions[self._actuated[0]])

    @property
    def velocities(self) -> Floats:
        """Velocities (n_a,) [m/s, rad/s] of the actuated joints, half a substep before them."""
        return np.array(self._velocities[self._actuated[1]])

    @property
    def actuated_coordinates(self) -> Integers:
        """Which of MuJoCo's velocities (n_a,) are those of the actuated joints."""
        return self._actuated[1]

    def step(self, command: ArrayLike) -> PlantSample:
        """Apply actuator forces (n_a,) [N, N m] for one control interval.

        Raises SimulationError if the command has the wrong size or is not finite (the robot
        does not move then), or if the simulation has diverged.
        """
        forces = np.clip(self.check_command(command), -self._limits, self._limits)
        model, data = self.mujoco_model, self.mujoco_data
        sums = self._sums
        sums[:] = 0.0
        before = self.velocities
        for _ in range(self.substeps):
            self._apply(forces)
            if len(self._cut_friction):
                mujoco.mj_step1(model, data)
                self._cut_friction.apply(data)
                mujoco.mj_step2(model, data)
            else:
                mujoco.mj_step(model, data)
            self._follow_loads()
        after = self.velocities
        if not np.isfinite(after).all() or not np.isfinite(data.qacc).all():
            raise SimulationError(
                f"the simulation of robot '{self.description.name}' diverged at "
                f'{self.time:.4f} s; reset it'
            )
        start = self.time
        self._steps += 1
        self._warm_by(sums[1] / self.substeps)
        # MuJoCo's velocities belong half a substep before their positions.
        velocities = (sums[1] + 0.5 * (after - before)) / self.substeps
        self._sample = self._measure(start, sums[0] / self.substeps, velocities, forces)
        return self._sample

    def check_command(self, command: ArrayLike) -> Floats:
        """Return a command as (n_a,) forces [N, N m]; raises SimulationError if it is unfit."""
        forces = np.array(command, dtype=float)
        if forces.shape != (len(self.actuated_joints),):
            raise SimulationError(
                f"robot '{self.description.name}' takes {len(self.actuated_joints)} actuator "
                f'forces ({", ".join(self.actuated_joints)}), got an array of shape '
                f'{forces.shape}'
            )
        if not np.isfinite(forces).all():
            worst = int(np.flatnonzero(~np.isfinite(forces))[0])
            raise SimulationError(
                f"the force of joint '{self.actuated_joints[worst]}' must be finite, got "
                f'{forces[worst]}'
            )
        return forces

    def hold(self) -> PlantSample:
        """Let one control interval pass with the brakes on: nothing moves, no current."""
        self.mujoco_data.qvel[:] = 0.0
        start = self.time
        self._steps += 1
        zero = np.zeros(len(self.actuated_joints))
        self._warm_by(zero)
        self._sample = self._measure(start, self.positions, zero, zero)
        return self._sample

    def closure_gap(self) -> float:
        """Largest distance [m] between the two points of any loop closure."""
        model, data = self.mujoco_model, self.mujoco_data
        if model.neq == 0:
            return 0.0
        mujoco.mj_kinematics(model, data)
        gaps = data.site_xpos[model.eq_obj1id] - data.site_xpos[model.eq_obj2id]
        return float(np.max(np.linalg.norm(gaps, axis=1)))

    # -- construction -------------------------------------------------------------

    def _lay_out(self) -> None:
        data = self.mujoco_data
        self._actuated = self._addresses(self.actuated_joints)
        self._loads = loads = JointLoads(self.description, self.effects, self.mujoco_model)
        self._friction = FrictionTable.build(self.description, self.effects, loads.joints)
        self._motor_friction = MotorFriction.build(self.description, self.effects)
        cuts = (self.description, self.effects, self.mujoco_model, loads.constraints)
        self._cut_friction = CutFriction(*cuts)
        data.xfrc_applied[:] = 0.0
        self._bristles = np.zeros(len(self._friction.joints))
        self._lay_out_warmth()
        self._rubbing = np.ascontiguousarray(self._addresses(self._friction.joints)[1])
        effects = self.effects
        self._by_position = PositionTable.build(self.description, effects)
        limits = [self.description.joint(name).limit.effort for name in self.actuated_joints]
        self._limits = np.array(limits) if effects.saturation else np.full(len(limits), np.inf)
        self._limits[[actuator.free for actuator in self.description.actuators]] = 0.0
        self._sums = np.zeros((2, len(limits)))
        # Views into MuJoCo's own memory, which stays where it is.
        self._positions: Floats = data.qpos
        self._velocities: Floats = data.qvel
        self._applied: Floats = data.qfrc_applied

    def _lay_out_warmth(self) -> None:
        """Collect the drives whose viscous friction changes with their temperature."""
        effects, joints = self.effects, self._friction.joints
        terms = self.description.drive_terms if effects.drives and effects.friction else {}
        self._warm = warm_states(self.description, terms)
        self._warm_rows = [joints.index(self.actuated_joints[each.axis]) for each in self._warm]
        values = [b for name in self.actuated_joints for b in _warmth(terms.get(name))]
        self._warm_values = np.array(values)
        self._heat = np.array([each.start for each in self._warm])
        self._friction_table = self._friction.table.copy()

    def _warm_by(self, velocities: Floats) -> None:
        """Let drives warm up for an interval, and their viscous friction with them."""
        for i, each in enumerate(self._warm):
            share = -np.expm1(-self.step_time / each.time)
            self._heat[i] += share * (each.power(velocities) - self._heat[i])
        self._set_viscous()

    def _set_viscous(self) -> None:
        if self._warm:
            viscous = self._friction.table[:, VISCOUS].copy()
            np.add.at(viscous, self._warm_rows, self._warm_values * self._heat)
            self._friction_table[:, VISCOUS] = viscous

    def _addresses(self, joints: Any) -> Integers:
        """Return (2, n) addresses of scalar joints in MuJoCo's positions and velocities."""
        model = self.mujoco_model
        ids = [model.joint(name).id for name in joints]
        return np.array([model.jnt_qposadr[ids], model.jnt_dofadr[ids]], dtype=np.int64)

    def _check_substep(self) -> None:
        """Refuse a substep at which the explicit friction forces would oscillate."""
        mobility = closed_mobility(self.mujoco_model, self.mujoco_data)
        along = self._friction.steepest(self._substep) * np.diag(mobility)[self._rubbing]
        about = self._cut_friction.stiffness(self.mujoco_model, self.mujoco_data, mobility)
        motors = self._motor_friction
        steep = motors.steepest(self._friction.transition_velocity)
        felt = mobility[np.ix_(self._actuated[1], self._actuated[1])]
        turning = steep * np.einsum('mi,ij,mj->m', motors.rows, felt, motors.rows)
        names = [f"joint '{name}'" for name in (*self._friction.joints, *self._cut_friction.names)]
        names += [f"motor '{name}'" for name in motors.names]
        stiffness = np.concatenate([along, about, turning]) * self._substep
        if stiffness.size and np.max(stiffness) > 1.0:
            worst = int(np.argmax(stiffness))
            longest = self._substep / stiffness[worst]
            raise SimulationError(
                f"robot '{self.description.name}': the friction of "
                f'{names[worst]} needs a substep below {longest:.1e} s, '
                f'not {self._substep:.1e} s'
            )

    def _apply(self, forces: Floats) -> None:
        state, friction = (self._positions, self._velocities, self._applied), self._friction
        rubbing = (self._rubbing, self._friction_table, friction.deflections, self._bristles)
        motors = (self._motor_friction.rows, self._motor_friction.table)
        of_time = (self._substep, friction.transition_velocity)
        table = self._by_position
        by_position = (table.springs, table.rippling, table.ripple)
        rows = (*by_position, *rubbing, *motors, *of_time)
        apply_forces(*state, self._actuated, forces, *rows, self._sums)

    def _follow_loads(self) -> None:
        """Let friction that grows with loads follow those of the state that is there."""
        loads = self._loads
        if not loads:
            return
        levels = loads.friction(self.mujoco_model, self.mujoco_data)
        of_joints, of_cuts = np.split(levels[:, None], [len(loads.joints)])
        level = slice(COULOMB, COULOMB_NEGATIVE + 1)
        for table in (self._friction.table, self._friction_table):
            table[len(table) - len(of_joints) :, level] = of_joints
        self._cut_friction.table[len(self._cut_friction) - len(of_cuts) :, level] = of_cuts

    def _measure(
        self, start: float, positions: Floats, velocities: Floats, forces: Floats
    ) -> PlantSample:
        return PlantSample(
            time=self.time,
            positions=self._sensors.positions(self.positions),
            currents=self._sensors.currents(forces),
            current_time=min(start + 0.5 * (self.step_time - self._substep), self.time),
            truth_positions=positions,
            truth_velocities=velocities,
            truth_forces=forces.copy(),
        )


def _warmth(terms: DriveTerms | None) -> tuple[float, ...]:
    return () if terms is None or terms.warm_up is None else terms.warm_up.values


def _check_rotors(description: Description) -> None:
    """Refuse rotors that MuJoCo has no inertia for."""
    for motor, factors in motors_of(description):
        if motor.rotor_inertia and not is_one_branch(description, list(factors)):
            raise SimulationError(
                f"robot '{description.name}': MuJoCo cannot simulate the rotor of motor "
                f"'{motor.name}', whose joints {', '.join(factors)} are in different branches"
            )


def whole_ratio(step: float, substep: float) -> int:
    """Return how many substeps an interval has; raises SimulationError for no whole number."""
    ratio = step / substep if substep > 0.0 and np.isfinite(substep) else 0.0
    count = round(ratio)
    if count < 1 or abs(ratio - count) > 1e-6:
        raise SimulationError(
            f'the control interval ({step} s) must be a whole number of substeps ({substep} s)'
        )
    return count
