"""Recordings of a robot, cheap: exact motion, forces of a changed robot, sensor noise."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from every_model import model_of
from npz_recordings import save

from pkm_bringup.studies.runs.plants import (
    dataset,
    excitation_of,
    noisy_effects,
    noisy_periods,
    sampled_period,
)
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.datasets import Recording
from pkm_identification.monitoring.watched_parameters import FRICTION

PERIODS = 4
DAY = 86400.0  # [s]
BEGIN = 1.7e9  # [s since 1970]


@dataclass(frozen=True)
class Robot:
    """What is not as described: by standard parameter added, by joint factors and offsets."""

    added: dict[str, float] = field(default_factory=dict)
    friction: dict[str, float] = field(default_factory=dict)  # factor of the joint's friction
    constants: dict[str, float] = field(default_factory=dict)  # factor
    rotors: dict[str, float] = field(default_factory=dict)  # factor
    encoders: dict[str, float] = field(default_factory=dict)  # true less told position


def motion(name: str, seed: int) -> FourierTrajectory:
    """The shipped excitation, smaller, slower and with other phases: each seed another motion."""
    random, shipped = np.random.default_rng(seed), excitation_of(model_of(name))
    size, slower = random.uniform(0.7, 0.9), random.uniform(1.0, 1.3)
    turn = random.uniform(-0.4, 0.4, shipped.sine.shape)
    sine = size * (shipped.sine * np.cos(turn) - shipped.cosine * np.sin(turn))
    cosine = size * (shipped.sine * np.sin(turn) + shipped.cosine * np.cos(turn))
    period = round(shipped.period * slower * 1000) / 1000
    series = (shipped.offset, sine, cosine)
    return FourierTrajectory(
        period, *series, shipped.coordinates, shipped.coordinate_names, shipped.robot
    )


def recorded(name: str, seed: int, robot: Robot | None = None) -> Recording:
    """Record currents [A] of one motion."""
    robot, model = robot or Robot(), model_of(name)
    trajectory = motion(name, seed)
    _, exact = sampled_period(model, trajectory)
    names, parameters = list(model.parameter_names), np.array(model.nominal_parameters)
    for key, value in robot.added.items():
        parameters[names.index(key)] += value
    for joint, factor in robot.friction.items():
        own = [names.index(f'{joint}.{kind}') for kind in FRICTION if f'{joint}.{kind}' in names]
        parameters[own] *= factor
    for joint, factor in robot.rotors.items():
        parameters[names.index(f'{joint}.rotor')] *= factor
    told = model.actuator_states(exact).positions.copy()
    forces = np.array(model.inverse_dynamics(exact, parameters))
    constants = np.array(model.force_constants)
    constants = np.where(np.isfinite(constants), constants, 1.0)
    for k, joint in enumerate(model.actuated_joints):
        told[:, k] -= robot.encoders.get(joint, 0.0)
        forces[:, k] /= robot.constants.get(joint, 1.0)
    noise = noisy_effects(model.description)
    random = np.random.default_rng(seed)
    positions, efforts = noisy_periods(told, forces, PERIODS, noise, random)
    time = np.arange(len(positions)) * 1e-3
    return dataset(model, time, positions, trajectory.period, efforts=efforts)


def write(folder: Path, day: int, recording: Recording) -> Path:
    """Write a recording of a day as an NPZ file, whose time is that of the day."""
    path = folder / f'day_{day:03}.npz'
    save(path, recording)
    os.utime(path, (BEGIN + DAY * day,) * 2)
    return path
