"""Motion of the platform from that of the actuators, with its covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_identification.arrays import Array
from pkm_identification.signals.bands import HarmonicBand
from pkm_identification.signals.signals import Signals

AT_ONCE = 2048  # samples with their neighbours
COORDINATES = 18


@dataclass(frozen=True)
class UncertainMotion:
    """Motion of the platform and how certain it is."""

    motion: PlatformMotion  # of N samples
    # (N, 18, 18) of position (3) [m], rotation (3) [rad], a small turn about the axes of
    # the base frame, twist (6) [m/s, rad/s] and acceleration (6) [m/s^2, rad/s^2]
    covariance: Array

    @property
    def standard_deviation(self) -> Array:
        """Standard deviations (N, 18), in the order of `covariance`."""
        return np.asarray(np.sqrt(np.maximum(np.einsum('nii->ni', self.covariance), 0.0)))


def actuator_covariance(signals: Signals) -> Array:
    """Covariance (3 n_a, 3 n_a) of positions, velocities and accelerations of the actuators.

    That of the noise of the measured positions after averaging and refit, or after the filter; the
    same at all samples. A periodic motion has it from the harmonics in which it was measured; in
    the others it is taken as zero and has none.
    """
    band = signals.band
    if isinstance(band, HarmonicBand):
        return _of_harmonics(signals, band)
    covariance, gains = signals.position_covariance, signals.noise_gains
    if covariance is None or gains is None:
        raise EstimationError('the noise of the positions is not known: there is no covariance')
    return np.asarray(np.kron(gains, covariance), dtype=np.float64)


def _of_harmonics(signals: Signals, band: HarmonicBand) -> Array:
    count = len(signals)
    harmonics = np.arange(band.harmonics + 1)
    if signals.position_noise is not None:
        noise = signals.position_noise.spectrum[: band.harmonics + 1] / signals.averaged
    else:
        noise = np.broadcast_to(
            _above_all_motion(signals), (len(harmonics), *2 * (signals.positions.shape[1],))
        )
    measured = signals.measured_harmonics
    counted = np.ones(len(harmonics)) if measured is None else np.where(measured, 1.0, 0.0)
    counted[0] = 0.5  # the mean is one coefficient, a harmonic two
    weight = 2 / count * counted
    frequency = 2 * np.pi / band.period * harmonics
    moments = [np.einsum('k,kab->ab', weight * frequency**power, noise) for power in (0, 2, 4)]
    zero = np.zeros_like(moments[0])
    return np.block(
        [[moments[0], zero, -moments[1]], [zero, moments[1], zero], [-moments[1], zero, moments[2]]]
    )


def _above_all_motion(signals: Signals) -> Array:
    """Covariance (n_a, n_a) of one sample of a single period: white, read off its upper half."""
    folded = signals.folded_positions
    if folded is None:
        raise EstimationError('the noise of the positions is not known: there is no covariance')
    transform = np.fft.rfft(folded.mean, axis=0) / np.sqrt(len(signals))
    upper = transform[len(transform) // 2 : -1]
    return np.asarray((upper.T @ upper.conj()).real / len(upper))


def platform_motion(
    signals: Signals, model: ClosedChainModel, rows: slice = slice(None)
) -> UncertainMotion:
    """Return the motion of the platform with its covariance.

    The noise of the measured positions, as averaging and refit or the filter leave it, is
    propagated through the forward kinematics, its cross-correlation between the axes and between
    positions and accelerations included: to first order, by central differences over one standard
    deviation along the principal directions of the actuators' covariance. An `EstimationError`
    where that noise is not known, or the recording is too long.
    """
    states = np.stack([signals.positions, signals.velocities, signals.accelerations], axis=1)
    states = states[rows]
    motion = signals.motion(model, rows)
    roots = _directions(actuator_covariance(signals)).reshape(-1, 3, states.shape[2])
    count = len(states)
    covariance = np.zeros((count, COORDINATES, COORDINATES))
    step = max(1, AT_ONCE // max(2 * len(roots), 1))
    for begin in range(0, count, step):
        part = states[begin : begin + step]
        moved = np.concatenate([part + root for root in roots] + [part - root for root in roots])
        result = model.motion_from_actuators(moved[:, 0], moved[:, 1], moved[:, 2])
        size = len(roots) * len(part)
        change = _change(result, slice(0, size), slice(size, None)) / 2
        change = change.reshape(len(roots), len(part), COORDINATES)
        covariance[begin : begin + step] = np.einsum('rni,rnj->nij', change, change)
    return UncertainMotion(motion, covariance)


def _directions(covariance: Array) -> Array:
    """Vectors (k, n) whose outer products sum to a covariance (n, n)."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    safe = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(safe, safe))
    kept = values > 1e-12 * max(float(values[-1]), 1e-300)
    return (vectors[:, kept] * np.sqrt(values[kept])).T * scale


def _change(motion: PlatformMotion, to: slice, start: slice) -> Array:
    """Differences (N, 18) between two groups of samples."""
    turn = motion.rotation[to] @ np.swapaxes(motion.rotation[start], 1, 2)
    turn = (turn - np.swapaxes(turn, 1, 2)) / 2
    return np.concatenate(
        [
            motion.position[to] - motion.position[start],
            np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1),
            motion.twist[to] - motion.twist[start],
            motion.acceleration[to] - motion.acceleration[start],
        ],
        axis=1,
    )
