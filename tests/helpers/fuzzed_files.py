"""The readers of files that are given broken ones, and a whole file for each."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from fuzzing import LONGEST, Tally, broken_bytes, broken_xml, broken_yaml, tried
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys.store import Typestore
from scipy.io import savemat

import pkm_description
from pkm_bringup.inputs import load_payload
from pkm_description.errors import DatasetError
from pkm_description.untrusted.bounded_yaml import load_yaml
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import load_trajectory
from pkm_identification import load, load_result
from pkm_identification.datasets import BagWriter
from pkm_identification.datasets.bags.message_types import complete_typestore, jazzy_typestore
from pkm_identification.excitation import load_excitation
from pkm_identification.excitation.excitation_design import DESIGNS
from pkm_identification.options import written_options

ROOT = Path(__file__).resolve().parents[2]
ROBOTS = Path(pkm_description.__file__).parent / 'robots'
TIME = np.arange(60) / 100
WAVE = np.sin(3 * TIME)
CSV = 'time,a.position,a.effort\n' + ''.join(
    f'{t},{x},{-x}\n' for t, x in zip(TIME, WAVE, strict=True)
)
NAMES = (
    '{time: {column: t, unit: s}, joints: [a], '
    'position: {column: p, unit: m}, effort: {column: f, unit: N}}'
)
SAMPLED = (
    '{type: sampled, coordinates: actuators, coordinate_names: [a], time: [0.0, 0.5, 1.0, 1.5], '
    'positions: [[0.0], [0.1], [0.1], [0.0]]}'
)
PAYLOAD = (
    '{mass: 0.5, centre: [0.01, 0.0, 0.02], mass_deviation: 0.1, '
    'inertia: [0.001, 0.0, 0.0, 0.001, 0.0, 0.001]}'
)
Break = Callable[[bytes, np.random.Generator], bytes]


@dataclass(frozen=True)
class Form:
    """One reader, what it is given whole, and how that is broken."""

    make: Callable[[Path], Path]  # writes into a folder; the file to break
    read: Callable[[Path], Any]  # the file that was broken
    broken: Break = broken_bytes

    def tally(
        self, count: int, seed: int, keep: Path | None = None, longest: float = LONGEST
    ) -> Tally:
        """Read some broken files; the whole one first. Those with defects are kept."""
        tally, rng = Tally(), np.random.default_rng(seed)
        with tempfile.TemporaryDirectory() as scratch:
            path = self.make(Path(scratch))
            self.read(path)
            data = path.read_bytes()
            for index in range(count):
                broken = self.broken(data, rng)
                path.write_bytes(broken)
                found = len(tally.defects)
                tried(tally, f'input {index}', lambda: self.read(path), longest)
                if keep is not None and len(tally.defects) > found:
                    (keep / f'{seed}-{index}-{path.name}').write_bytes(broken)
        return tally


def text(name: str, content: str) -> Callable[[Path], Path]:
    """Write a text."""

    def make(folder: Path) -> Path:
        (folder / name).write_text(content)
        return folder / name

    return make


def _npz(folder: Path) -> Path:
    path, names, wave = folder / 'data.npz', np.array(['a']), WAVE[:, None]
    np.savez_compressed(path, time=TIME, joint_names=names, positions=wave, efforts=-wave)
    return path


def _mat(folder: Path) -> Path:
    path = folder / 'data.mat'
    savemat(path, {'t': TIME, 'p': WAVE, 'f': -WAVE}, do_compression=True)
    (folder / 'columns.yaml').write_text(NAMES)
    return path


def _parquet(folder: Path) -> Path:
    import pyarrow
    import pyarrow.parquet

    path = folder / 'data.parquet'
    pyarrow.parquet.write_table(pyarrow.table({'t': TIME, 'p': WAVE, 'f': -WAVE}), path)
    (folder / 'columns.yaml').write_text(NAMES)
    return path


def _named(folder: Path) -> Path:
    (folder / 'data.csv').write_text(CSV.replace(CSV.split()[0], 't,p,f'))
    return text('names.yaml', NAMES)(folder)


# -- bags -----------------------------------------------------------------------------

UNHASHED = 'RIHS01_' + 64 * '0'  # stands for a type whose hash is not known
DEFINITIONS = {
    f'pkm_msgs/msg/{each.stem}': each.read_text()
    for each in (ROOT / 'pkm_msgs' / 'msg').glob('*.msg')
}
JOINT_STATE, CURRENTS = 'sensor_msgs/msg/JointState', 'pkm_msgs/msg/MotorCurrents'
METADATA = 'period: 0.6\nforce_constants: {a: 20.0}\nside: joint\n'


@cache
def _types() -> Typestore:
    store = jazzy_typestore()
    for name in DEFINITIONS:
        complete_typestore(name, DEFINITIONS, store)
    return store


@cache
def _messages() -> list[tuple[str, str, bytes, int]]:
    """Messages of a small recording: topic, type, bytes, stamp [ns]."""
    store, found = _types(), []
    types = store.types
    header_of, time_of = types['std_msgs/msg/Header'], types['builtin_interfaces/msg/Time']
    for t, x in zip(TIME, WAVE, strict=True):
        stamp = round(t * 1e9)
        header = header_of(time_of(stamp // 10**9, stamp % 10**9), 'base')
        one, none = np.array([x]), np.zeros(0)
        state = types[JOINT_STATE](header, ['a'], one, none, none)
        current = types[CURRENTS](header, ['a'], -one)
        for topic, kind, message in (
            ('/joint_states', JOINT_STATE, state),
            ('/motor_currents', CURRENTS, current),
        ):
            found.append((topic, kind, bytes(store.serialize_cdr(message, kind)), stamp))
    return found


def _write_bag(path: Path, messages: list[tuple[str, str, bytes, int]], metadata: str) -> Path:
    with BagWriter(path, definitions=DEFINITIONS) as writer:
        writer.write_text('/pkm/metadata', metadata, 0)
        for message in messages:
            writer.write(*message)
    return path


def _bag(folder: Path) -> Path:
    return next(_write_bag(folder / 'bag', _messages(), METADATA).glob('*.mcap'))


def _bag_yaml(folder: Path) -> Path:
    return _bag(folder).with_name('metadata.yaml')


def _write_plainly(bag: Path, storage: StoragePlugin, definitions: dict[str, str]) -> None:
    """Write the messages without any check, where given with these definitions."""
    connections: dict[str, Any] = {}
    with Writer(bag, version=9, storage_plugin=storage) as writer:
        for topic, kind, data, stamp in _messages():
            if topic not in connections:
                text = definitions.get(kind)
                hashed = {} if text is None else {'msgdef': text, 'rihs01': UNHASHED}
                connections[topic] = writer.add_connection(
                    topic, kind, typestore=_types(), **hashed
                )
            writer.write(connections[topic], stamp, data)
    whole = (bag / 'metadata.yaml').read_text()
    (bag / 'metadata.yaml').write_text(whole.replace(UNHASHED, ''))


def _sqlite(folder: Path) -> Path:
    _write_plainly(folder / 'bag', StoragePlugin.SQLITE3, {})
    return next((folder / 'bag').glob('*.db3'))


def _read_both(path: Path) -> Any:
    """Read a bag whole, and as if it were cut off."""
    try:
        return load(path.parent)
    except DatasetError:
        return load(path.parent, allow_incomplete=True)


class MessageForm(Form):
    """Bags that are whole as files, with broken messages, stamps, types or metadata in them."""

    def tally(
        self, count: int, seed: int, keep: Path | None = None, longest: float = LONGEST
    ) -> Tally:
        """Write and read some bags."""
        tally, rng, messages = Tally(), np.random.default_rng(seed), _messages()
        for index in range(count):
            given, metadata = list(messages), METADATA
            for _ in range(rng.integers(1, 4)):
                row = int(rng.integers(0, len(given)))
                topic, kind, data, stamp = given[row]
                what = rng.integers(0, 5)
                if what == 0:
                    metadata = broken_yaml(METADATA.encode(), rng).decode('utf-8', 'replace')
                elif what == 1:
                    given[row] = topic, kind, broken_bytes(data, rng), stamp
                elif what == 2:  # lengths and stamps lie on words of four bytes
                    place = 4 * int(rng.integers(0, len(data) // 4))
                    number = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 1000, 10**8]))
                    word = number.to_bytes(4, 'little')
                    given[row] = topic, kind, data[:place] + word + data[place + 4 :], stamp
                elif what == 3:
                    given[row] = topic, kind, data, int(rng.integers(0, 2**62))
                else:  # all messages of the topic alike
                    place, byte = int(rng.integers(0, len(data))), int(rng.integers(0, 256))
                    given = [
                        (t, k, d[:place] + bytes([byte]) + d[place + 1 :], s)
                        if t == topic
                        else (t, k, d, s)
                        for t, k, d, s in given
                    ]
            with tempfile.TemporaryDirectory() as scratch:
                bag = _write_bag(Path(scratch) / 'bag', given, metadata)
                tried(tally, f'input {index}', lambda bag=bag: load(bag), longest)
        return tally


class DefinitionForm(Form):
    """Bags whose definitions of messages are broken."""

    def tally(
        self, count: int, seed: int, keep: Path | None = None, longest: float = LONGEST
    ) -> Tally:
        """Write and read some bags."""
        tally, rng, store = Tally(), np.random.default_rng(seed), _types()
        kinds = (JOINT_STATE, CURRENTS)
        schemas = {kind: store.generate_msgdef(kind)[0] for kind in kinds}
        for index in range(count):
            given, kind = dict(schemas), kinds[rng.integers(0, 2)]
            given[kind] = broken_bytes(given[kind].encode(), rng).decode('utf-8', 'replace')
            with tempfile.TemporaryDirectory() as scratch:
                bag = Path(scratch) / 'bag'
                _write_plainly(bag, StoragePlugin.MCAP, given)
                tried(tally, f'input {index}', lambda bag=bag: load(bag), longest)
        return tally


# -- robots, designs, models ------------------------------------------------------------


def _robot(folder: Path, name: str = 'five_bar') -> Path:
    for each in ROBOTS.iterdir():
        if each.name in (name, 'common'):
            shutil.copytree(each, folder / each.name)
    return folder / name / f'{name}.urdf.xacro'


def _urdf(folder: Path) -> Path:
    path = folder / 'five_bar.urdf'
    path.write_text(pkm_description.load('five_bar').urdf)
    shutil.copy(ROBOTS / 'five_bar' / 'five_bar.yaml', folder)
    return path


def _urdf_of_hexapod(folder: Path) -> Path:
    path = folder / 'palida.urdf'
    path.write_text(pkm_description.load('palida').urdf)
    shutil.copy(ROBOTS / 'palida' / 'palida.yaml', folder)
    return path


def _sidecar(folder: Path) -> Path:
    return _robot(folder, 'palida').parent / 'palida.yaml'


def _arm(folder: Path) -> Path:
    return _robot(folder, 'serial_arm').parent / 'serial_arm.yaml'


GEPETTO = {
    'closed_loop': [['tip_A', 'tip_B']],
    'type': ['3d'],
    'name_mot': ['mot1', 'mot2'],
    'home': {'joints': {'mot1': 0.0, 'mot2': 0.0}},
}


def _gepetto(folder: Path) -> Path:
    def link(name: str) -> str:
        return (
            f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" '
            'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )

    def joint(name: str, parent: str, child: str, x: float, angle: float) -> str:
        return (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{x} 0 0" rpy="0 0 {angle}"/><axis xyz="0 0 1"/>'
            '<limit lower="-2.5" upper="2.5" effort="20" velocity="50"/></joint>'
        )

    def frame(name: str, parent: str, x: float) -> str:
        return (
            f'<link name="{name}"/><joint name="{name}_frame" type="fixed">'
            f'<parent link="{parent}"/><child link="{name}"/><origin xyz="{x} 0 0"/></joint>'
        )

    (folder / 'robot.urdf').write_text(
        '<robot name="five"><link name="base"/>'
        + ''.join(map(link, ('upper1', 'lower1', 'upper2', 'effector')))
        + joint('mot1', 'base', 'upper1', -0.1, 2.2)
        + joint('elbow1', 'upper1', 'lower1', 0.25, -1.6)
        + joint('mot2', 'base', 'upper2', 0.1, 0.9)
        + joint('elbow2', 'upper2', 'effector', 0.25, 1.6)
        + frame('tip_A', 'lower1', 0.3)
        + frame('tip_B', 'effector', 0.3)
        + frame('platform', 'effector', 0.0)
        + '</robot>'
    )
    return text('robot.yaml', yaml.safe_dump(GEPETTO))(folder)


def _design(folder: Path) -> Path:
    shutil.copy(DESIGNS / 'five_bar.yaml', folder / 'design.yaml')
    return folder / 'design.yaml'


class _Models:
    """A model that is identified once, from a simulated recording."""

    def __init__(self) -> None:
        self.model: ClosedChainModel | None = None

    def make(self, folder: Path) -> Path:
        from pkm_identification import identify

        model = self.model = ClosedChainModel(pkm_description.load('five_bar'))
        t = np.arange(400) / 200
        home = np.asarray(model.home_actuators)
        phase = np.arange(model.n_a)
        q = home + 0.1 * np.sin(np.pi * t[:, None] + phase)
        qd = 0.1 * np.pi * np.cos(np.pi * t[:, None] + phase)
        qdd = -0.1 * np.pi**2 * np.sin(np.pi * t[:, None] + phase)
        forces = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
        noise = np.random.default_rng(0).normal(size=forces.shape)
        samples = {'time': t, 'positions': q, 'efforts': forces + 1e-3 * noise}
        np.savez(folder / 'run.npz', joint_names=np.array(model.actuated_joints), **samples)
        return identify(load(folder / 'run.npz'), model, estimator='ls').save(folder / 'model.yaml')

    def read(self, path: Path) -> Any:
        return load_result(path, self.model)


MODELS = _Models()

FORMS: dict[str, Form] = {
    'data.csv': Form(text('data.csv', CSV), load),
    'data.npz': Form(_npz, load),
    'data.mat': Form(_mat, load),
    'names.yaml': Form(
        _named, lambda path: load(path.with_name('data.csv'), columns=path), broken_yaml
    ),
    'bag.mcap': Form(_bag, _read_both),
    'bag.db3': Form(_sqlite, lambda path: load(path.parent)),
    'metadata.yaml': Form(_bag_yaml, lambda path: load(path.parent), broken_yaml),
    'messages': MessageForm(_bag, load),
    'definitions': DefinitionForm(_bag, load),
    'trajectory.yaml': Form(text('trajectory.yaml', SAMPLED), load_trajectory, broken_yaml),
    'design.yaml': Form(_design, load_excitation, broken_yaml),
    'model.yaml': Form(MODELS.make, MODELS.read, broken_yaml),
    'robot.urdf': Form(_urdf, pkm_description.load, broken_xml),
    'hexapod.urdf': Form(_urdf_of_hexapod, pkm_description.load, broken_xml),
    'robot.xacro': Form(_robot, pkm_description.load, broken_xml),
    'robot.yaml': Form(_sidecar, pkm_description.load, broken_yaml),
    'arm.yaml': Form(_arm, pkm_description.load, broken_yaml),
    'gepetto.yaml': Form(_gepetto, pkm_description.load, broken_yaml),
    'payload.yaml': Form(
        text('payload.yaml', PAYLOAD), lambda path: load_payload(str(path)), broken_yaml
    ),
    'text.yaml': Form(
        text('text.yaml', SAMPLED),
        lambda path: load_yaml(path.read_text('latin-1'), 'text', DatasetError),
    ),
    'options': Form(
        text('options', 'cutoff=20\nperiods=[1, 2]\njoints={a: b}'),
        lambda path: written_options(
            line.split('=', 1) for line in path.read_text('latin-1').splitlines() if '=' in line
        ),
    ),
}
try:
    import pyarrow  # noqa: F401
except ImportError:  # not needed by anything else; without it such files are refused
    pass
else:
    FORMS['data.parquet'] = Form(_parquet, load)
__all__ = ['FORMS', 'Form']
