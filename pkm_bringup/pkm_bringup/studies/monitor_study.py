"""False alarms of the force monitor over hours, and how soon it sees pushes on the platform."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT
from pkm_bringup.offline import SETTLE_TIME, effects_of, simulate
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, robot, seed
from pkm_bringup.studies.effects_study import ESTIMATOR, other_motions
from pkm_bringup.studies.runs.plants import excitation_of, model_of, recorded
from pkm_control.closed_loop import ClosedLoopRecording
from pkm_control.feedforward import nominal_feedforward
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_identification import identify
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.monitoring.alarm_latch import AlarmLatch
from pkm_identification.monitoring.alarm_rates import DAY
from pkm_identification.monitoring.drive_monitor import DriveVerdict
from pkm_identification.monitoring.monitor import FALSE_ALARMS, WINDOW, ForceMonitor, Verdict
from pkm_identification.monitoring.references import RobotMonitor
from pkm_identification.option import POSITIVE, Option, choice
from pkm_identification.requests.check_request import CheckRequest, planned_motion

EXCITATION_PERIODS = 10
REFERENCE_TIME = 60.0  # [s] of each motion that the levels come from
WATCHED_TIME = 60.0  # [s] of a run that is watched
PUSH_TIME = 0.5  # [s] that a push lasts
RAMP_TIME = 1.0  # [s]
# False alarms a day, at levels of which an hour shows some: every 10 s, every minute, every 10 min
OFTEN = (8640.0, 1440.0, 144.0)
WITHIN = 0.06  # [s] in which a push shall be seen
COMMANDED = 'commanded'
DIRECTIONS = {'x': 0, 'y': 1, 'z': 2}


def periods_in(model: ClosedChainModel, name: str, duration: float) -> int:
    """Return the number of periods of a motion that last as long, at least one."""
    period = other_motions(model)[name].period
    assert period is not None
    return max(round(duration / period), 1)


def whole_recording(
    model: ClosedChainModel, run: ClosedLoopRecording, commanded: bool
) -> Recording:
    """Return all from rest to rest, with commanded or measured forces."""
    names = tuple(model.actuated_joints)
    if commanded:
        told = Recording.from_arrays(run.time, names, run.positions, run.commands)
        return told.as_commanded().for_model(model)
    forces = run.currents * np.asarray(model.force_constants)
    delay = float(np.median(run.current_time - run.time))
    data = Recording.from_arrays(run.time, names, run.positions, forces, effort_delay=delay)
    return data.for_model(model)


@lru_cache(maxsize=1)
def calibrated(
    robot_name: str, effects: str, window: float, forces: str, first: int
) -> RobotMonitor:
    """Return the monitor of a robot; each process makes the same one.

    The model is from the shipped excitation, the levels are from the motions that are watched,
    recorded by themselves.
    """
    model = model_of(robot_name)
    plant = effects_of(model.description, effects)
    data = recorded(model, excitation_of(model), 'robot', plant, EXCITATION_PERIODS, first)
    result = identify(data, model, ESTIMATOR, friction='auto')
    measured, commanded = [], []
    for number, name in enumerate(other_motions(model)):
        periods = periods_in(model, name, REFERENCE_TIME)
        run = moved(model, name, periods, plant, first + 1 + number)
        measured.append(whole_recording(model, run, commanded=False))
        if forces == COMMANDED:
            commanded.append(whole_recording(model, run, commanded=True))
    return RobotMonitor.calibrated(result, measured, commanded, window)


def moved(
    model: ClosedChainModel,
    name: str,
    periods: int,
    effects: PlantEffects | None,
    seed: int,
    **more: Any,
) -> ClosedLoopRecording:
    """Return a run of one of the motions that are watched."""
    trajectory = other_motions(model)[name]
    settings: dict[str, Any] = {'effects': effects, 'seed': seed, 'ramp_time': RAMP_TIME}
    feedforward = nominal_feedforward(model)
    return simulate(model, trajectory, periods, feedforward=feedforward, **settings, **more)


def seen_in(
    monitor: RobotMonitor, model: ClosedChainModel, run: ClosedLoopRecording
) -> tuple[Verdict, DriveVerdict | None]:
    """Return what the monitor makes of a run, and of its drives where they are watched."""
    measured = whole_recording(model, run, commanded=False)
    told = whole_recording(model, run, commanded=True)
    verdict, drives = monitor.watched(measured, told)
    assert verdict is not None
    return verdict, drives


def watch(
    robot_name: str, effects: str, window: float, forces: str, first: int, motion: str, seed: int
) -> dict[str, Any]:
    """Return how long an undisturbed run is, and how often it exceeds which levels."""
    model = model_of(robot_name)
    monitor = calibrated(robot_name, effects, window, forces, first)
    plant = effects_of(model.description, effects)
    run = moved(model, motion, periods_in(model, motion, WATCHED_TIME), plant, seed)
    contact, drives = seen_in(monitor, model, run)
    levels, share = monitor.contact.levels, 1.0 if drives is None else 0.5
    alarms, rate = {}, monitor.contact.stream.rate
    for often in (*OFTEN, FALSE_ALARMS):
        sizes = contact.ratios * levels.levels
        count = raised(sizes, levels.at(share * often).levels, rate)
        if drives is not None and monitor.drives is not None:
            sizes = drives.ratios * monitor.drives.levels
            count += raised(sizes, monitor.drives.response.statistics.levels(share * often), rate)
        alarms[f'{often:g}'] = count
    return {'duration': len(contact.ratios) / rate, 'alarms': alarms}


def raised(sizes: Array, levels: Array, rate: float) -> int:
    """How many alarms sizes (k, c) at levels (c,) raise, `rate` [Hz] instants a second."""
    alarm = AlarmLatch(rate)
    for row in sizes / levels:
        alarm.judge(row[None])
    return alarm.count


def push(
    robot_name: str,
    effects: str,
    window: float,
    forces: str,
    first: int,
    force: float,
    direction: str,
    seed: int,
) -> dict[str, Any]:
    """Return when a push at a random moment of the circle is seen [s], None where it is not."""
    model = model_of(robot_name)
    monitor = calibrated(robot_name, effects, window, forces, first)
    motion = next(iter(other_motions(model)))
    random = np.random.default_rng(seed)
    periods = periods_in(model, motion, 2.0)
    plant = effects_of(model.description, effects)
    request = CheckRequest(other_motions(model)[motion], RAMP_TIME, periods, from_home=True)
    duration = planned_motion(request, model).duration + 2 * SETTLE_TIME
    wrench = np.zeros(3)
    wrench[DIRECTIONS[direction[1]]] = force if direction[0] == '+' else -force
    begin = random.uniform(0.3, 0.7) * duration
    body = model.description.platform

    def disturb(elapsed: float, simulated: SimulatedPlant) -> None:
        on = begin <= elapsed < begin + PUSH_TIME
        number = simulated.mujoco_model.body(body).id
        simulated.mujoco_data.xfrc_applied[number, :3] = wrench if on else 0.0

    run = moved(model, motion, periods, plant, seed, disturb=disturb)
    verdict, _ = seen_in(monitor, model, run)
    # what is heard with a sample comes an interval after it
    time = verdict.residuals.time - run.time[0] + monitor.contact.stream.interval
    during = (time >= begin) & (time < begin + PUSH_TIME)
    found = np.flatnonzero(verdict.alarms & during)
    return {'latency': float(time[found[0]] - begin) if len(found) else None}


def unit_forces(model: ClosedChainModel, direction: str) -> Array:
    """Forces (n_a,) at home that a newton on the platform along `direction` makes."""
    jacobian = model.platform_jacobian(model.home_actuators[None])[0]
    return np.asarray(jacobian[DIRECTIONS[direction[1]]])


def best_possible(model: ClosedChainModel, unit: Array, within: float, level: float) -> float:
    """Force [N] that is at a level of deviations `within` s, for the noise of the forces alone.

    Of white noise, known exactly, and a perfect model: the mean over that time is the best there
    is [Neyman and Pearson 1933].
    """
    noise = PlantEffects.from_description(model.description).force_covariance
    samples = within * 1000.0  # of the shipped rate
    information = float(unit @ np.linalg.solve(noise, unit)) * samples
    return level / float(np.sqrt(information))


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Watch, push, and compare with what the levels promise."""
    model = model_of(options.robot)
    given = (options.robot, options.effects, options.window, options.forces, options.seed)
    motions = list(other_motions(model))
    count = max(round(options.hours * 3600.0 / WATCHED_TIME), 1)
    cases = [
        {'motion': motions[k % len(motions)], 'seed': options.seed + 100 + k} for k in range(count)
    ]
    watched = runner.map(partial(watch, *given), cases, 'watched: minute', 'watched')
    duration = sum(each['duration'] for each in watched)
    alarms = [
        {
            'a_day': float(often),
            'expected': float(often) * duration / DAY,
            'found': sum(each['alarms'][often] for each in watched),
        }
        for often in watched[0]['alarms']
    ]
    signs = [f'{sign}{axis}' for axis in DIRECTIONS for sign in '+-']
    pushes = [
        {'direction': sign, 'seed': options.seed + 10_000 + 100 * k + number}
        for number, sign in enumerate(signs)
        for k in range(options.pushes)
    ]
    pushed = runner.map(partial(push, *given, options.force), pushes, 'pushes:', 'pushes')
    latencies: dict[str, list[float | None]] = {sign: [] for sign in signs}
    for case, found in zip(pushes, pushed, strict=True):
        latencies[str(case['direction'])].append(found['latency'])
    monitor = calibrated(*given).contact
    return {
        'robot': options.robot,
        'hours': duration / 3600.0,
        'window': options.window,
        'forces': options.forces,
        'delay': monitor.stream.delay,
        'deviation': monitor.levels.typical,
        'levels': monitor.levels.levels,
        'exponents': [each.exponent for each in monitor.levels.statistics.rates],
        'alarms': alarms,
        'force': options.force,
        'pushes': [_summary(model, monitor, sign, latencies[sign]) for sign in signs],
    }


def _summary(
    model: ClosedChainModel, monitor: ForceMonitor, sign: str, found: Sequence[float | None]
) -> dict[str, Any]:
    latencies = sorted(each for each in found if each is not None)
    unit = unit_forces(model, sign)
    together = float(monitor.levels.levels[-1])
    return {
        'direction': sign,
        'pushes': len(found),
        'seen': len(latencies) / len(found),
        'within': sum(each <= WITHIN for each in latencies) / len(found),
        'median': float(np.median(latencies)) if latencies else None,
        'largest': latencies[-1] if latencies else None,
        'least_force': monitor.least_seen(unit),
        'best_possible': best_possible(model, unit, WITHIN, together),
    }


STUDY = Study(
    'monitor',
    'false alarms of the force monitor over hours, and how soon it sees a push',
    'The model is identified from the shipped excitation, the levels of alarms are from a minute '
    'of each motion that is watched. least force: a steady one that is at the level; best '
    f'possible: that of {1000 * WITHIN:g} ms of measured forces with the shipped noise alone.',
    (
        robot('palida'),
        Option('hours', POSITIVE, 'of undisturbed motion', 1.0, 'h'),
        Option('pushes', COUNT, 'in each direction', 20, '1'),
        Option('force', POSITIVE, 'of a push', 60.0, 'N'),
        Option('window', POSITIVE, 'over which residuals are averaged', WINDOW, 's'),
        Option(
            'forces', choice(COMMANDED, 'measured'), 'that are compared with the model', COMMANDED
        ),
        Option('effects', choice('all', 'modelled'), 'of the robot', 'all'),
        *seed(),
    ),
    run,
)
