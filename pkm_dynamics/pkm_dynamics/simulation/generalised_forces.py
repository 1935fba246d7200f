"""Forces of one substep, compiled: actuators, position and joint friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description import Description, Friction, Ripple
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.kernels.decorator import compiled
from pkm_dynamics.simulation.effects import PlantEffects, Stribeck

# Columns of a friction table: friction of one joint.
COULOMB, COULOMB_NEGATIVE, VISCOUS, EXTRA, STRIBECK_VELOCITY, STRIBECK_EXPONENT = range(6)

NO_FRICTION = (0.0, 0.0, 0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class FrictionTable:
    """Friction of all joints that have any: names and (n_f, 6) coefficients.

    The joints whose friction grows with their load stand at the end once more: the friction of
    their load, which `joint_loads` finds, slides.
    """

    joints: tuple[str, ...]
    table: Floats
    deflections: Floats  # (n_f,) [m, rad] at which presliding ends; 0: none
    transition_velocity: float

    @classmethod
    def build(
        cls, description: Description, effects: PlantEffects, loaded: Sequence[str] = ()
    ) -> FrictionTable:
        """Collect the friction of a description and the Stribeck extras of its effects."""
        stribeck = {entry.joint: entry for entry in effects.stribeck}
        rows = {
            joint.name: friction_row(
                joint.friction or Friction(model='none'), stribeck.get(joint.name)
            )
            for joint in description.joints
            if joint.is_scalar and effects.friction
        }
        terms = description.drive_terms if effects.drives else {}
        warm = {name for name, own in terms.items() if own.warm_up is not None}
        rows = {name: row for name, row in rows.items() if any(row[:4]) or name in warm}
        for constraint in description.constraints:
            # The exported model has a joint for a prismatic closure.
            if constraint.type == 'prismatic' and constraint.friction and effects.friction:
                rows[f'{constraint.name}_auxiliary'] = friction_row(constraint.friction)
        table = np.array([*rows.values(), *[NO_FRICTION] * len(loaded)]).reshape(-1, 6)
        yielding = {name: own.presliding or 0.0 for name, own in terms.items()}
        deflections = np.array([*(yielding.get(name, 0.0) for name in rows), *[0.0] * len(loaded)])
        return cls((*rows, *loaded), table, deflections, float(description.transition_velocity))

    def steepest(self, step: float) -> Floats:
        """Slope (n_f,) of each friction law at standstill [N s/m, N m s/rad].

        With presliding, of the damper whose explicit force is as near to oscillation in steps
        [s] as that of the bristles' spring.
        """
        table, depth = self.table, self.deflections
        level = np.maximum(table[:, COULOMB], table[:, COULOMB_NEGATIVE]) + table[:, EXTRA]
        width = np.where(depth > 0.0, depth / step, self.transition_velocity)
        return np.asarray(level / width + table[:, VISCOUS])


@dataclass(frozen=True)
class MotorFriction:
    """Friction of motors behind transmissions, as at a shaft that goes with the fastest joint.

    Its rate is `rows` @ the actuators' rates, with entries of at most one; Coulomb friction is
    linear in it up to the joints' transition velocity.
    """

    names: tuple[str, ...]
    rows: Floats  # (n_m, n_a)
    table: Floats  # (n_m, 6) as that of joints

    @classmethod
    def build(cls, description: Description, effects: PlantEffects) -> MotorFriction:
        """Collect the motors that rub."""
        joints = description.actuated_joints
        names, rows, tables = [], [], []
        for each in description.transmissions if effects.friction else ():
            places = [joints.index(name) for name in each.joints]
            for motor, rates in zip(each.motors, each.inverse, strict=True):
                if motor.friction is None or motor.friction.model == 'none':
                    continue
                row, size = np.zeros(len(joints)), np.abs(rates).max()
                row[places] = rates / size
                table = np.array(friction_row(motor.friction))
                table[[COULOMB, COULOMB_NEGATIVE]] *= size
                table[VISCOUS] *= size**2
                names.append(motor.name)
                rows.append(row)
                tables.append(table)
        arrays = np.array(rows).reshape(-1, len(joints)), np.array(tables).reshape(-1, 6)
        return cls(tuple(names), *arrays)

    def steepest(self, transition_velocity: float) -> Floats:
        """Slope (n_m,) of each friction law at standstill [N s/m, N m s/rad]."""
        level = np.maximum(self.table[:, COULOMB], self.table[:, COULOMB_NEGATIVE])
        return np.asarray(level / transition_velocity + self.table[:, VISCOUS])


@dataclass(frozen=True)
class PositionTable:
    """Forces of the drives by position, as `apply_forces` takes them."""

    springs: Floats  # (3, n_a) offset, stiffness, rest
    rippling: Integers  # (n_r,) actuator of each wave
    ripple: Floats  # (3, n_r) amplitude of the force on the joint, wave number, phase

    @classmethod
    def build(cls, description: Description, effects: PlantEffects) -> PositionTable:
        """Collect the terms that the description declares and the cogging of its effects."""
        joints = description.actuated_joints
        springs = np.zeros((3, len(joints)))
        rippling = np.flatnonzero(effects.cogging_amplitude)
        wave_number = 2.0 * np.pi / effects.cogging_period
        waves = np.stack([effects.cogging_amplitude, wave_number, effects.cogging_phase])
        waves = waves[:, rippling]
        for joint, terms in (description.drive_terms if effects.drives else {}).items():
            i = joints.index(joint)
            springs[:, i] = terms.offset or 0.0, terms.stiffness or 0.0, terms.rest
            own = _waves(terms.ripple)
            waves = np.concatenate([waves, own], axis=1)
            rippling = np.append(rippling, np.full(own.shape[1], i))
        return cls(springs, rippling, np.ascontiguousarray(waves))


def _waves(ripple: Ripple | None) -> Floats:
    """Amplitude, wave number and phase (3, k) of the force on the joint: less what it needs."""
    if ripple is None:
        return np.zeros((3, 0))
    cosine, sine = np.array(ripple.cosine), np.array(ripple.sine)
    wave_number = 2.0 * np.pi * np.array(ripple.harmonics) / ripple.period
    return np.stack([-np.hypot(cosine, sine), wave_number, np.arctan2(cosine, sine)])


def friction_row(friction: Friction, stribeck: Stribeck | None = None) -> tuple[float, ...]:
    """Return the friction table's row of one joint."""
    coulomb, negative = friction.levels
    viscous = friction.damping
    if stribeck is None:
        return (coulomb, negative, viscous, 0.0, 1.0, 1.0)
    extra = max(stribeck.static - 0.5 * (coulomb + negative), 0.0)
    return (coulomb, negative, viscous, extra, stribeck.velocity, stribeck.exponent)


@compiled
def _rub(v: float, sat: float, row: Floats) -> float:
    """Friction force [N, N m] of a row of a friction table, `sat` of its level, at a velocity."""
    level = row[0] if sat >= 0.0 else row[1]
    if row[3] > 0.0:
        level += row[3] * np.exp(-((abs(v) / row[4]) ** row[5]))
    return level * sat + row[2] * v


@compiled
def apply_forces(
    positions: Floats,  # (n_q,)
    velocities: Floats,  # (n_v,)
    forces: Floats,  # (n_v,) output [N, N m]
    actuated: Integers,  # (2, n_a) position address and velocity address
    command: Floats,  # (n_a,) [N, N m]
    springs: Floats,  # (3, n_a) offset [N, N m], stiffness [N/m, N m/rad], rest [m, rad]
    rippling: Integers,  # (n_r,) actuator of each wave of force ripple
    ripple: Floats,  # (3, n_r) amplitude [N, N m], wave number [1/m, 1/rad], phase [rad]
    rubbing: Integers,  # (n_f,) velocity address of the joints with friction
    friction: Floats,  # (n_f, 6) friction table
    deflections: Floats,  # (n_f,) [m, rad] at which presliding ends; 0: none
    bristles: Floats,  # (n_f,) state of presliding, over its deflection
    motor_rows: Floats,  # (n_m, n_a) rates of motors by those of the actuators
    motor_friction: Floats,  # (n_m, 6) friction table
    step: float,  # since the forces before [s]
    transition_velocity: float,  # Coulomb friction is linear between plus and minus this
    sums: Floats,  # (2, n_a) running sums of the actuated positions and velocities
) -> None:
    """Write the generalised forces of one substep and add to the window's sums."""
    forces[:] = 0.0
    for i in range(actuated.shape[1]):
        q = positions[actuated[0, i]]
        dof = actuated[1, i]
        sums[0, i] += q
        sums[1, i] += velocities[dof]
        forces[dof] = command[i] - springs[0, i] - springs[1, i] * (q - springs[2, i])
    for k in range(rippling.shape[0]):
        q = positions[actuated[0, rippling[k]]]
        wave = ripple[0, k] * np.sin(ripple[1, k] * q + ripple[2, k])
        forces[actuated[1, rippling[k]]] += wave
    for j in range(rubbing.shape[0]):
        dof = rubbing[j]
        v = velocities[dof]
        sat = min(1.0, max(-1.0, v / transition_velocity))
        if deflections[j] > 0.0:  # the position has changed by exactly v times the step
            sign = 1.0 if v > 0.0 else -1.0
            kept = np.exp(-abs(v) * step / deflections[j])
            sat = bristles[j] = sign + (bristles[j] - sign) * kept
        forces[dof] -= _rub(v, sat, friction[j])
    for j in range(motor_rows.shape[0]):
        v = 0.0
        for i in range(actuated.shape[1]):
            v += motor_rows[j, i] * velocities[actuated[1, i]]
        sat = min(1.0, max(-1.0, v / transition_velocity))
        force = _rub(v, sat, motor_friction[j])
        for i in range(actuated.shape[1]):
            forces[actuated[1, i]] -= motor_rows[j, i] * force
