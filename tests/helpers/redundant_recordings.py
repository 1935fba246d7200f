"""Recordings of a simulated planar 4-RRR, all of whose drives are servos that hold a preload."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pkm_description
from pkm_dynamics import RedundantModel, SimulatedPlant
from pkm_identification import Recording

ROBOT = Path(pkm_description.__file__).parent / 'examples' / 'planar_4rrr.urdf.xacro'
PERIOD, STEP = 1.0, 1e-3  # [s]
PRELOAD = np.array([1.0, -1.0, 1.0, -1.0])  # [N m]
HARMONICS = 5


def motion(model: RedundantModel, seed: int):
    """One period of x, y and yaw, whose drives go from rest to rest by no more than it takes."""
    core, rng = model.core, np.random.default_rng(seed)
    time = STEP * np.arange(round(PERIOD / STEP))
    phases = np.arange(1, HARMONICS + 1) * 2.0 * np.pi * time[:, None] / PERIOD
    sizes = np.array([0.02, 0.02, 0.08]) / np.sqrt(HARMONICS)  # [m, m, rad]
    waves = np.stack([np.sin(phases), np.cos(phases)], axis=2).reshape(len(time), -1)
    x, y, yaw = (waves @ rng.normal(size=(2 * HARMONICS, 3)) * sizes).T
    turn = np.zeros((len(time), 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(yaw)
    turn[:, 1, 0], turn[:, 2, 2] = np.sin(yaw), 1.0
    turn[:, 0, 1] = -turn[:, 1, 0]
    q = core.inverse_kinematics(np.stack([x, y, 0 * x], axis=1), turn)
    w = 2j * np.pi * np.fft.fftfreq(len(time), STEP)[:, None]
    spectrum = np.fft.fft(q, axis=0)
    qd, qdd = (np.fft.ifft(spectrum * w**k, axis=0).real for k in (1, 2))
    return core.motion_from_actuators(q, qd, qdd)


def recorded(seed: int = 1, periods: int = 4, noise: bool = True) -> Recording:
    """Whole periods after one that is left out, measured at 1 kHz, with currents."""
    description = pkm_description.load(ROBOT)
    model = RedundantModel(description)
    wanted = motion(model, seed)
    ahead = model.inverse_dynamics(wanted)
    q, qd, _ = model.drive_states(wanted)
    plant = SimulatedPlant(description, seed=seed, step=STEP)
    if not noise:
        plant.effects = plant.effects.ideal()
    count, rows, last = len(q), [], plant.sample.positions
    lead = 500
    for k in range(-lead, (periods + 1) * count):
        share = min(1.0, (k + lead) / lead)  # from home to the first sample
        target = model.home_actuators + share * (q[k % count] - model.home_actuators)
        if k < 0:
            target = model.home_actuators + share * (q[0] - model.home_actuators)
        speed = qd[k % count] * (k >= 0)
        rate, last = (plant.sample.positions - last) / STEP, plant.sample.positions
        force = ahead[k % count] * (k >= 0) + PRELOAD
        force = force + 120.0 * (target - plant.sample.positions) + 3.0 * (speed - rate)
        sample = plant.step(force)
        if k >= count:
            rows.append(sample)
    return Recording.from_arrays(
        np.array([each.time for each in rows]),
        plant.actuated_joints,
        np.array([each.positions for each in rows]),
        currents=np.array([each.currents for each in rows]),
        effort_delay=rows[0].current_time - rows[0].time,
        period=PERIOD,
    )
