"""One run repeated by a simulated robot under the servo that made it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics.joint_servo.servo_loop import ServoLoop
from pkm_dynamics.joint_servo.steady_state import SteadyState, steady_state
from pkm_dynamics.trajectories import Trajectory, trajectory_from_dict
from pkm_identification.arrays import Array
from pkm_identification.excitation.excitation_design import load_excitation, load_motion
from pkm_identification.regression.run import PeriodicRun, Run, in_blocks

Reference = Trajectory | str | Path | None

HARMONIC_SAMPLES = 4  # of the simulation, over the harmonics of the rows
PERIOD_TOLERANCE = 1e-6  # of a period: what rounding in files may change it by


@dataclass(frozen=True)
class SimulatedRun(PeriodicRun):
    """A periodic run, and the reference and servo of the robot that made it."""

    servo: ServoLoop
    reference: Array  # desired positions (N, n_a) [m, rad] over a period, on its own clock
    feedforward: Array  # (N, n_a) [N, N m]
    positions: Array  # measured (N, n_a), on the clock of the reference as far as it is known
    forces: Array  # measured rows (m, n_a) on that clock
    shift: float  # what was added to the stamps of the data for it [s]

    def rows(self, samples: Array) -> Array:
        """Rows (m, ...) of simulated samples (N, ...), of the size of the measured rows."""
        return self.band.rows(samples) * np.sqrt(len(self.signals) / len(samples))

    def simulate(self, values: Array, start: SteadyState | None, tolerance: float) -> SteadyState:
        """Return the steady state of the robot with base parameters (r,)."""
        model, standard, period = self.run.model, self.run.base.columns @ values, self.band.period
        wanted = self.reference, self.feedforward
        return steady_state(model, standard, *wanted, self.servo, period, start, tolerance)

    def regressor(self, state: SteadyState) -> Array:
        """Base regressor (N, n_a, r) along a simulated motion."""
        q, qd, qdd = state.positions, state.velocities, state.accelerations
        run = self.run

        def block(k: slice) -> Array:
            return run.base.regressor(run.model.motion_from_actuators(q[k], qd[k], qdd[k]))

        return in_blocks(len(q), block)

    def aligned(self, state: SteadyState) -> SimulatedRun:
        """Return the run with its clock moved to where the positions fit the simulated ones."""
        weight = 1 / np.maximum(state.positions.var(axis=0), 1e-300)
        late = state.positions - self.positions
        change = -np.sum(weight * late * state.velocities) / np.sum(weight * state.velocities**2)
        return self.with_shift(self.shift + float(change))

    def with_shift(self, shift: float) -> SimulatedRun:
        """Return the run with `shift` [s] added to the stamps of the data."""
        signals, count = self.signals, len(self.reference)
        period = self.band.period
        return replace(
            self,
            positions=_resampled(_later(signals.positions, shift, period), count),
            forces=self.band.rows(_later(signals.forces, shift, period)),
            shift=(shift + 0.5 * period) % period - 0.5 * period,
        )


def simulated_run(
    run: Run, wanted: Trajectory, feedforward: Array | None, servo: ServoLoop, rate: float | None
) -> SimulatedRun:
    """Prepare the simulation of a periodic run along the trajectory that was wanted of the robot.

    `feedforward` are its standard parameters (n_p,), None where there was none; `rate` [Hz] is that
    of the simulation, None: that of the recording, and at least four samples a harmonic.
    EstimationError where the run is not periodic, or has another period than the trajectory.
    """
    model = run.model
    if not run.is_periodic:
        raise EstimationError(
            'output_error simulates the periodic motion under the servo: it needs data with a '
            'period'
        )
    signals, band = PeriodicRun(run).signals, PeriodicRun(run).band
    period = band.period
    times = round(period / wanted.period) if wanted.period else 0  # a motion may be repeated
    rest = abs(max(times, 1) * (wanted.period or np.inf) - period)
    if rest > PERIOD_TOLERANCE * period:
        raise EstimationError(
            f'the data have a period of {period:g} s, the reference motion one of '
            f'{"none" if wanted.period is None else format(wanted.period, "g")} s: give the '
            'reference that was run'
        )
    least = HARMONIC_SAMPLES * (band.harmonics + 2)
    count = max(len(signals) if rate is None else round(rate * period), least)
    time = period / count * np.arange(count)
    motion = wanted.ordered(model.actuated_joints).motion(time, model)
    reference = np.asarray(model.actuator_states(motion).positions)
    forces = np.zeros_like(reference)
    if feedforward is not None:
        forces = np.asarray(model.inverse_dynamics(motion, feedforward))
    found = SimulatedRun(run, servo, reference, forces, reference, reference, 0.0)
    desired = _resampled(reference, len(signals))
    return found.with_shift(_first_shift(signals.positions, desired, period))


def _first_shift(measured: Array, reference: Array, period: float) -> float:
    """Shift [s] of the data at which they are most like the reference."""
    spectra = [np.fft.rfft(each - each.mean(axis=0), axis=0) for each in (measured, reference)]
    size = np.maximum(reference.var(axis=0), 1e-300)
    likeness = np.fft.irfft(spectra[1] * spectra[0].conj() / size, len(measured), axis=0)
    return float(np.argmax(likeness.sum(axis=1))) * period / len(measured)


def _later(values: Array, shift: float, period: float) -> Array:
    """Periodic samples (n, ...) with `shift` [s] added to their stamps, on the same grid."""
    spectrum = np.fft.rfft(values, axis=0)
    turn = np.exp(-2j * np.pi / period * shift * np.arange(len(spectrum)))
    return np.fft.irfft(spectrum * turn[:, None], len(values), axis=0)


def _resampled(values: Array, count: int) -> Array:
    """Periodic samples (n, ...) on `count` samples of the same period."""
    spectrum = np.fft.rfft(values, axis=0)[: count // 2 + 1]
    return np.fft.irfft(spectrum, count, axis=0) * (count / len(values))


def reference_of(run: Run, given: Reference) -> Trajectory:
    """Return the reference motion of a run; EstimationError where there is none.

    Given: `Trajectory`, path of a trajectory or design file, `shipped`, or None: of the recording.
    """
    if isinstance(given, Trajectory):
        return given
    if given == 'shipped':
        return load_excitation(run.model.description.name)
    if given is not None:
        return load_motion(given)
    recorded = getattr(run.signals, 'recording', {}).get('trajectory')
    if not recorded:
        raise EstimationError(
            'the recording does not tell the reference motion that the controller followed; give '
            'reference=, a trajectory, its file or that of a design, or shipped'
        )
    return trajectory_from_dict(recorded)
