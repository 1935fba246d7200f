"""A recording from the topics of a bag."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets.bags.bag_reader import Fields, RawBag, read_bag
from pkm_identification.datasets.bags.commanded_stream import commanded_stream
from pkm_identification.datasets.bags.force_stream import force_stream
from pkm_identification.datasets.bags.measured_stream import (
    Stream,
    find_topic,
    read_stream,
    require_topic,
)
from pkm_identification.datasets.bags.message_columns import TopicColumns
from pkm_identification.datasets.bags.pairing import AT_ONCE, NANOSECONDS, Stamps, pair_by_stamp
from pkm_identification.datasets.force_messages import (
    CURRENTS,
    MOTOR_CURRENTS,
    POSITIONS,
    recorded_force_messages,
    wanted_fields,
)
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.recorded_metadata import (
    parsed_metadata,
    recorded_calibration,
    recorded_effort_filter,
    recorded_force_constants,
    recorded_payload,
    recorded_period,
    recorded_side,
)
from pkm_identification.datasets.source import Block, Source
from pkm_identification.datasets.stored_array import in_parts, stored, with_columns
from pkm_identification.datasets.truth import Truth
from pkm_identification.quality.report import merged

TRUTH = 'ground_truth'
STATE = 'trajectory_controller/state'
URDF = 'robot_description'
SIDECAR = 'robot_description_yaml'
METADATA = 'pkm/metadata'
TOPICS = (POSITIONS, CURRENTS, TRUTH, STATE, URDF, SIDECAR, METADATA)
TRUE_NUMBERS = ('position', 'velocity', 'effort')
NUMBERS: dict[str, Fields] = {
    POSITIONS: ('position', 'effort', 'velocity'),
    CURRENTS: wanted_fields,
    TRUTH: TRUE_NUMBERS,
    STATE: ('phase', 'trajectory_time'),
}
COMMANDED = {
    **NUMBERS,
    STATE: ('phase', 'trajectory_time', 'command'),
}  # where forces are those that it commanded
RAMP_IN, RUN, RAMP_OUT = 3, 4, 5  # pkm_msgs/ControllerState
# Of the ramp beside the full speed: its speed differs from that by less than 1e-6 there, by the
# 10 u^3 of a smooth step of fifth order.
SAME_SPEED = 0.0046


def open_bag(
    path: Path,
    *,
    allow_incomplete: bool = False,
    only_run: bool = True,
    topic: str | None = None,
    topics: Mapping[str, str] | None = None,
    joints: Sequence[str] = (),
    truth: bool = True,
    measured: bool = True,
    commanded: bool = False,
) -> Callable[[bool], Recording]:
    """Read a bag, of this project or any with a `sensor_msgs/JointState`.

    `topics` are names in the bag by their role (`joint_states`, `motor_currents`, ...): one that
    begins with / is taken literally, others in any namespace; `topic` is short for
    topics={'joint_states': topic}. With `allow_incomplete` a cut-off file is used up to its last
    whole chunk. Where the controller's state was recorded, `only_run` keeps the whole periods at
    full speed (phase RUN) alone. `joints` are the names in the bag that are wanted, where messages
    of one topic name different ones. Without `truth` noise-free signals are left unread, unless
    `topics` names them. What is returned makes a recording of what was read: with the forces that
    the drives measured, or, given True, with those that the controller commanded, by its state.
    `measured` and `commanded` say which of them are read.
    """
    if topic is not None:
        if POSITIONS in (topics or {}):
            raise DatasetError(f"topic= and topics={{'{POSITIONS}': ...}} say the same: give one")
        topics = {**(topics or {}), POSITIONS: topic}
    roles = {role: role for role in TOPICS if truth or role != TRUTH} | dict(topics or {})
    unknown = sorted(set(topics or {}) - set(TOPICS))
    if unknown:
        raise DatasetError(f"unknown topic role '{unknown[0]}'; roles are {', '.join(TOPICS)}")
    wanted = COMMANDED if commanded else NUMBERS
    if not measured and CURRENTS not in (topics or {}):
        del roles[CURRENTS]
    bag = read_bag(
        path,
        [name.strip('/') for name in roles.values()],
        allow_incomplete=allow_incomplete,
        numbers={roles[role].strip('/'): wanted[role] for role in wanted if role in roles},
    )
    found = {role: find_topic(bag, name, role) for role, name in roles.items()}
    for role, name in (topics or {}).items():
        require_topic(bag, found[role], name)
    metadata = parsed_metadata(bag.text(found[METADATA]), f"'{path}': '{found[METADATA]}'")
    return partial(_recording, bag, found, metadata, joints, only_run)


def _recording(
    bag: RawBag,
    found: Mapping[str, str | None],
    metadata: Mapping[str, Any],
    joints: Sequence[str],
    only_run: bool,
    commanded: bool,
) -> Recording:
    path = str(bag.path)
    told = recorded_force_messages(metadata, path)
    joints = joints or (told.names if told is not None else ())
    positions = _positions(bag, found, joints)
    if commanded:
        positions, efforts = commanded_stream(bag, found[STATE], positions, metadata)
    else:
        efforts = force_stream(bag, found, positions, joints, told)
        if told is not None:
            efforts = efforts.of(joints)  # a rail may share messages with the robot
        if told is not None and told.message_type != MOTOR_CURRENTS:
            positions = positions.without('effort')  # they are the same, or another unit's
    period = recorded_period(metadata, path)
    state = found[STATE]
    note: dict[str, Any] = {}
    if only_run and state is not None:
        selection, note = _running(bag, state, positions.stamps, period)
        positions = positions.rows(selection)
    recording = _assemble(bag, found, metadata, period, positions, efforts, note)
    return recording.as_commanded() if commanded else recording


def _assemble(
    bag: RawBag,
    found: Mapping[str, str | None],
    metadata: Mapping[str, Any],
    period: float | None,
    positions: Stream,
    efforts: Stream,
    note: Mapping[str, Any],
) -> Recording:
    path, stamps = str(bag.path), positions.stamps
    pairs = pair_by_stamp(stamps, efforts.stamps, f"'{path}': efforts to positions")
    kind = 'currents' if 'current' in efforts.columns else 'efforts'
    names = [name for name in efforts.names if name in positions.names]
    if not names:
        raise DatasetError(
            f"'{path}': positions are of {', '.join(positions.names)}, efforts of "
            f'{", ".join(efforts.names)}; no joint has both'
        )
    which = next(iter(efforts.columns.values()))
    columns = np.array([efforts.names.index(name) for name in names])
    own = np.array([positions.names.index(name) for name in names])
    delay = pairs.delay
    both = positions.columns.get('effort')
    parts = () if both is None else in_parts(both)
    if kind == 'efforts' or both is None or all(np.isnan(each[:, own]).all() for each in parts):
        both = None
    else:
        delay = 0.0  # efforts came with the positions

    velocity = positions.columns.get('velocity')
    if velocity is not None and not all(np.isfinite(v[:, own]).all() for v in in_parts(velocity)):
        velocity = None

    def read(rows: slice) -> Block:
        first, second = np.asarray(pairs.first[rows]), np.asarray(pairs.second[rows])
        samples: dict[str, Any] = {kind: which[second][:, columns]}
        if both is not None:
            samples['efforts'] = both[first][:, own]
        if velocity is not None:
            samples['velocities'] = velocity[first][:, own]
        time = _seconds(stamps[first], origin)
        return Block(time, positions.columns['position'][first][:, own], **samples)

    origin, last = (int(stamps[pairs.first[row]]) for row in (0, -1))
    sidecar, calibration = recorded_calibration(bag.text(found[SIDECAR]), path)
    return Recording(
        Source.opened(read, len(pairs.first), len(names)),
        tuple(names),
        effort_delay=delay,
        effort_filter=recorded_effort_filter(metadata, path),
        side=recorded_side(metadata, path),
        defects=merged([*positions.defects, *efforts.defects], len(stamps)),
        force_constants=recorded_force_constants(metadata, path),
        period=period,
        payload=recorded_payload(metadata.get('payload'), path),
        truth=_truth(bag, found.get(TRUTH), origin, last, names),
        urdf=bag.text(found[URDF]),
        sidecar=sidecar,
        calibration=calibration,
        provenance={
            'source': path,
            'format': 'bag',
            'complete': bag.complete,
            'start_stamp': origin,
            **note,
            'left_out_samples': len(stamps) - len(pairs.first),
            'stamp_jitter': pairs.jitter,
            **({'clock_drift': pairs.drift} if pairs.drift else {}),
            **positions.notes,
            'metadata': dict(metadata),
        },
    )


def _seconds(stamps: Stamps, origin: int) -> Array:
    """Return stamps [ns] in s after `origin`."""
    return np.asarray(stamps - origin, dtype=np.float64) * NANOSECONDS


def _positions(bag: RawBag, found: Mapping[str, str | None], joints: Sequence[str]) -> Stream:
    topic = require_topic(bag, found[POSITIONS], POSITIONS)
    stream = read_stream(bag, topic, joints)
    if 'position' not in stream.columns:
        raise DatasetError(f"'{bag.path}': messages on '{topic}' hold no positions")
    return stream


def _truth(
    bag: RawBag, topic: str | None, origin: int, last: int, names: list[str]
) -> Truth | None:
    if topic is None:
        return None
    stream, fields = read_stream(bag, topic), TRUE_NUMBERS
    missing = [name for name in names if name not in stream.names]
    lacking = [name for name in fields if name not in stream.columns]
    if missing or lacking:
        raise DatasetError(f"'{bag.path}': '{topic}' lacks {', '.join(missing + lacking)}")
    margin = _interval(stream.stamps)
    stream = stream.rows((stream.stamps >= origin - margin) & (stream.stamps <= last + margin))
    time = stored(_seconds(part, origin) for part in in_parts(stream.stamps))
    columns = np.array([stream.names.index(name) for name in names])
    return Truth(time, *(with_columns(stream.columns[field], columns) for field in fields))


def _interval(stamps: Stamps) -> int:
    """Median interval of the first stamps [ns]; 0 of one alone."""
    return int(np.median(np.diff(stamps[:AT_ONCE]))) if len(stamps) > 1 else 0


def _running(
    bag: RawBag, topic: str, stamps: Stamps, period: float | None
) -> tuple[Mask, dict[str, Any]]:
    """Select the samples of whole periods at full speed."""
    table = bag.table(topic)
    state_stamps = table.stamps()
    running = table.numbers('phase') == RUN
    if not running.any():
        raise DatasetError(
            f"'{bag.path}': '{topic}' never reports full speed (phase RUN); load it with "
            'only_run=False to use all samples'
        )
    first, last = int(state_stamps[running].min()), int(state_stamps[running].max())
    interval = _interval(stamps)
    if period is None:
        return (stamps >= first) & (stamps <= last), {'periods': 0}
    length = int(round(period * 1e9))
    # Whole periods from the first sample at full speed: where in the path a period
    # begins does not matter, and none is lost to a sample that falls beside an end. Where
    # a period is no whole number of intervals, its last one is closed by the sample after.
    periods = int((last - first + 2 * interval) // length)
    if (ends := _ends_of_run(table, length, interval)) is not None:
        inside = stamps[(stamps >= ends[0]) & (stamps <= ends[1])]
        within = inside[(inside >= first) & (inside <= last)]
        more = _span(inside) + interval
        # What is lost at an end may stand beside it.
        if more // length > periods or _span(within) + 2 * interval < periods * length <= more:
            periods, first = int(more // length), int(inside.min())
    if periods < 1:
        raise DatasetError(
            f"'{bag.path}' holds no whole period at full speed: {(last - first) * NANOSECONDS:.3f} "
            f's recorded, the period is {period:g} s'
        )
    end = first + int(np.ceil(periods * length / interval - 0.05)) * interval
    selection = (stamps >= first - interval // 4) & (stamps < end - interval // 4)
    return selection, {'periods': periods}


def _span(stamps: Stamps) -> int:
    """Time [ns] from the first to the last."""
    return int(stamps.max()) - int(stamps.min()) if len(stamps) else 0


def _ends_of_run(table: TopicColumns, length: int, interval: int) -> tuple[int, int] | None:
    """Stamps [ns] between which the path goes on as at full speed, beyond what messages tell.

    Stamps less path parameters tell when the run began, whichever messages are lost; it ended a
    whole number of periods later, before the ramp. None where the clock of the motion was slowed,
    or the run did not end by itself.
    """
    phase, stamps = table.numbers('phase'), table.stamps()
    running, before, after = (phase == each for each in (RUN, RAMP_IN, RAMP_OUT))
    if not (before.any() and after.any()):
        return None
    passed = table.numbers('trajectory_time')[running] * 1e9
    begins = stamps[running] - passed.astype(np.int64)
    if np.ptp(begins) > interval:
        return None
    begin, last = int(np.median(begins)), int(stamps[running].max())
    margin = int(SAME_SPEED * (begin - int(stamps[before].min())))
    end = begin + max(round((last - begin) / length), 1) * length
    if not last - interval <= end <= int(stamps[after].min()) + interval:
        return None
    return begin - margin, end + margin
