"""Services and actions that are given drawn requests, at the level of the nodes' callbacks.

Work in the background and in other processes is done at once, here: so its errors show.
"""

from __future__ import annotations

import asyncio
import copy
import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from checks_here import Here
from fuzzed_files import FORMS, MODELS
from fuzzing import LONG, LONGEST, NUMBERS, TEXTS, Interrupted, Tally, odd_value, tried
from graph import Graph

import pkm_description
from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.nodes.trajectory_controller import TrajectoryControllerNode
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import CircleTrajectory, FourierTrajectory, PointToPoint
from pkm_identification.datasets.force_messages import MOTOR_CURRENTS, chosen_messages
from pkm_identification.nodes.estimation_server import EstimationServer
from pkm_identification.nodes.excitation_run import ExcitationRun, RunSettings
from pkm_msgs.action import Compare, Excite, FollowPlatformTrajectory, IdentifyWithProgress
from pkm_msgs.msg import DynamicParameters
from pkm_msgs.srv import ApplyModel, Identify, SetModel, Validate

ROBOT = 'five_bar'
UNFORESEEN = 'defect: ', 'Error: '  # how nodes report what nobody has foreseen
COUNTS = (0, 1, 2, 7, 1000, 100_001)
WHOLE = (0, 1, 2, 3, 255, 1000, 2**31, 2**32 - 1)


def broken_message(message: Any, rng: np.random.Generator) -> Any:
    """Change some fields of a message, within what its types can carry."""
    message = copy.deepcopy(message)
    for _ in range(rng.integers(1, 4)):
        holder, name, kind = _field(message, rng)
        try:
            setattr(holder, name, _drawn(getattr(holder, name), kind, rng))
        except AssertionError:
            pass  # cannot be in a message
    return message


def _field(message: Any, rng: np.random.Generator) -> tuple[Any, str, str]:
    kinds = message.get_fields_and_field_types()
    name = list(kinds)[rng.integers(0, len(kinds))]
    inner = getattr(message, name)
    if hasattr(inner, 'get_fields_and_field_types') and inner.get_fields_and_field_types():
        return _field(inner, rng)
    return message, name, kinds[name]


def _drawn(value: Any, kind: str, rng: np.random.Generator) -> Any:
    if kind.startswith('sequence<'):
        inner = kind.removeprefix('sequence<').removesuffix('>')
        given = list(value)
        what = rng.integers(0, 5)
        if what == 0:
            return [_one(inner, rng)] * int(rng.choice(COUNTS))
        if what == 1:
            return given[: rng.integers(0, len(given) + 1)]
        if what == 2:
            return given * int(rng.integers(2, 4))
        if given:
            given[rng.integers(0, len(given))] = _one(inner, rng)
        return given
    return _one(kind, rng)


def _one(kind: str, rng: np.random.Generator) -> Any:
    if kind == 'string':
        texts = (*TEXTS, LONG, str(odd_value(rng))[:100_000], '[' * 5000, '{a: [1, 2]}')
        return texts[rng.integers(0, len(texts))].replace('\0', '')
    if kind == 'boolean':
        return bool(rng.integers(0, 2))
    if 'int' in kind:
        return int(rng.choice(WHOLE)) % 2 ** min(32, int(kind.lstrip('uint')))
    if kind in ('float', 'double'):
        number = float(rng.choice(NUMBERS))
        return number if kind == 'double' or abs(number) < 1e38 else 0.0
    raise AssertionError(kind)


# -- nodes that do everything at once ---------------------------------------------------


class AtOnce:
    """In place of `Background`."""

    async def run(self, work: Callable[[], Any]) -> Any:
        return work()

    async def sleep(self, seconds: float) -> None:
        pass

    async def within(self, call: Any, seconds: float) -> Any:
        return call

    def close(self) -> None:
        pass


class Timed(Here):
    """A check of which the processor time of the last call is known [s], and that may be ended."""

    seconds = 0.0

    def call(self, longest: float, function: Callable[..., Any], *arguments: Any) -> Any:
        begun = time.process_time()
        try:
            return super().call(longest, function, *arguments)
        except Interrupted:
            raise PkmError(f'the check takes longer than {longest:g} s') from None
        finally:
            self.seconds = time.process_time() - begun


class Handle:
    """A goal, for its server."""

    is_cancel_requested = False
    is_active = True

    def __init__(self, request: Any) -> None:
        self.request = request
        self.goal_id = SimpleNamespace(uuid=bytes(16))

    def succeed(self) -> None:
        pass

    abort = canceled = succeed

    def publish_feedback(self, feedback: Any) -> None:
        pass


def answer_of(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that waits for nothing."""
    return asyncio.run(coroutine)


class Unforeseen(Exception):
    """An answer that is not documented."""


def documented(code: int, message: str, whole: bool) -> None:
    """Raise where an answer has no code or tells of a defect; PkmError where it refuses."""
    if whole:
        return
    if not code or not message or any(each in message for each in UNFORESEEN):
        raise Unforeseen(f'{code}: {message[:500]}')
    raise PkmError(message)


class Requests:
    """Both servers and the controller, and a whole request for each of what they offer."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.model = ClosedChainModel(pkm_description.load(ROBOT))
        self.graph = Graph(f'robot:={ROBOT}', 'update_mode:=state', f'data_folder:={self.folder}')

    def __enter__(self) -> Requests:
        self.graph.__enter__()
        self._make_files()
        controller = self.controller = self.graph.add(TrajectoryControllerNode)
        controller._follow._background.close()
        controller._follow._background = AtOnce()
        controller.loop = controller._build()
        self.check = controller._follow._worker = Timed(controller.loop.controller.model)
        controller.loop.controller.activate(self.model.home_actuators)
        controller.loop.commanding = True
        server = self.server = self.graph.add(EstimationServer)
        server._background.close()
        server._background = AtOnce()
        server._controller = SimpleNamespace(
            srv_name='set_model',
            wait_for_service=lambda timeout_sec: True,
            call_async=lambda message: controller._models.set_model(message, SetModel.Response()),
            remove_pending_request=lambda call: None,
        )
        return self

    def __exit__(self, *error: object) -> None:
        self.controller.loop.commanding = False
        self.graph.__exit__(*error)
        shutil.rmtree(self.folder)

    def _make_files(self) -> None:
        FORMS['bag.mcap'].make(self.folder)
        MODELS.make(self.folder)

    # -- whole requests -------------------------------------------------------------

    def trajectories(self) -> list[Any]:
        """Messages of motions that the robot can follow."""
        home, names = np.asarray(self.model.home_actuators), list(self.model.actuated_joints)
        sines = 0.05 * np.ones((len(names), 2))
        fourier = FourierTrajectory(2.0, home, sines, 0 * sines, 'actuators', names, ROBOT)
        way = PointToPoint([0.0, 1.0, 2.0], [home, home + 0.1, home], 'actuators', names)
        about = [*self.model.home_position, 0, 0, 0]
        circle = CircleTrajectory(about, [0, 0, 1], 0.02, 0.1)
        return [to_message(each) for each in (fourier, way, circle)]

    def parameters(self) -> DynamicParameters:
        """The description's own parameters."""
        return DynamicParameters(
            robot=ROBOT,
            description_digest=self.model.description.digest,
            standard_name=list(self.model.parameter_names),
            standard_value=list(map(float, self.model.nominal_parameters)),
        )

    def whole(self) -> dict[str, list[Any]]:
        """Requests by what serves them."""
        data = str(self.folder / 'run.npz')
        options = {'option_name': ['cutoff', 'method'], 'option_value': ['20.0', 'filter']}
        identify = dict(data=data, estimator='ls', **options)
        model = str(self.folder / 'model.yaml')
        goals, runs = [], []
        for each in self.trajectories():
            how = {'trajectory': each, 'periods': 1, 'ramp_time': 0.5}
            goals.append(FollowPlatformTrajectory.Goal(approach_speed=0.1, **how))
            runs.append(Excite.Goal(bag=str(self.folder / 'new'), **how))
        return {
            'follow': goals,
            'excite': runs,
            'set_model': [SetModel.Request(source='identified', parameters=self.parameters())],
            'identify': [Identify.Request(**identify)],
            'validate': [Validate.Request(data=data, model=model)],
            'apply_model': [ApplyModel.Request(model=model, waive_validation=True)],
            'identify_with_progress': [IdentifyWithProgress.Goal(**identify)],
            'compare': [Compare.Goal(data=data, name=['ls', 'wls']), Compare.Goal(data=data)],
        }

    # -- what serves them --------------------------------------------------------------

    def serve(self, name: str, request: Any) -> None:
        """Answer one request; PkmError where it is refused as documented."""
        getattr(self, f'_{name}')(request)

    def needed(self, name: str, whole: Sequence[Any]) -> float:
        """Processor time [s] that the longest of some whole requests takes."""
        times = []
        for request in whole:
            begun = time.process_time()
            with suppress(PkmError):
                self.serve(name, request)
            times.append(time.process_time() - begun)
        return max(times)

    def _follow(self, request: Any) -> None:
        follow = self.controller._follow
        outcome, _ = answer_of(_until_it_moves(follow, Handle(request)))
        documented(int(outcome.code), outcome.message, outcome.succeeded)

    def _excite(self, request: Any) -> None:
        answer_of(self._run(request).run())

    def _run(self, request: Any) -> ExcitationRun:
        home = self.model.home_actuators
        settings = RunSettings(1000.0, 0.1, 1.0, 1.0, 1.0, 1.0, None, self.folder)

        async def state(timeout: float) -> str:
            return 'active'

        system = SimpleNamespace(controller_state=state, published_digest=lambda own: own.digest)
        recorder = SimpleNamespace(
            ages=lambda: {'joint_states': 0.0}, latest=lambda topic: b'', recording=False
        )
        forces = chosen_messages(
            [MOTOR_CURRENTS], False, 'auto', self.model.description.actuated_joints
        )
        graph = (system, AtOnce(), self.check, Handle(request), recorder, None)
        run = ExcitationRun(self.model, settings, forces, *graph)
        run._positions = lambda: np.asarray(home)

        async def begin(trajectory: Any) -> None:
            raise _Enough()

        run._begin = begin
        return run

    def _set_model(self, request: Any) -> None:
        found = self.controller._models.set_model(request, SetModel.Response())
        documented(found.error_code, found.error_msg, found.success)

    def _answer(self, callback: Callable[..., Any], request: Any, kind: Any) -> None:
        found = answer_of(callback(request, kind.Response()))
        documented(found.error_code, found.error_msg, found.success)

    def _identify(self, request: Any) -> None:
        self._answer(self.server._on_identify, request, Identify)

    def _validate(self, request: Any) -> None:
        self._answer(self.server._on_validate, request, Validate)

    def _apply_model(self, request: Any) -> None:
        self._answer(self.server._on_apply, request, ApplyModel)

    def _goal(self, callback: Callable[..., Any], request: Any) -> None:
        found = answer_of(callback(Handle(request)))
        documented(found.error_code, found.error_msg, not found.error_code)

    def _identify_with_progress(self, request: Any) -> None:
        self._goal(self.server._on_identify_goal, request)

    def _compare(self, request: Any) -> None:
        self._goal(self.server._on_compare_goal, request)


class _Enough(ControlFault, PkmError):
    """A run that would begin."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.CANCELED, 'it would begin')


async def _until_it_moves(follow: Any, handle: Handle) -> Any:
    """Check a goal as the server does; a motion that would begin is not made."""
    moved = follow._follow

    async def enough(*_: Any) -> Any:
        raise _Enough()

    follow._follow = enough
    try:
        return await follow._outcome(handle)
    finally:
        follow._follow = moved


def tally_requests(count: int, seed: int, longest: float = LONGEST) -> dict[str, Tally]:
    """Serve `count` broken requests in all.

    None may take more than `longest` [s], or than thrice what a whole one of its kind computes.
    """
    rng, slowest = np.random.default_rng(seed), 0.0
    with Requests() as requests:
        given = requests.whole()
        needed = {name: requests.needed(name, given[name]) for name in given}
        tallies = {name: Tally() for name in given}
        for index in range(count):
            name = list(given)[index % len(given)]
            whole = given[name][rng.integers(0, len(given[name]))]
            broken = broken_message(whole, rng)
            requests.check.seconds = 0.0
            tried(
                tallies[name],
                f'request {index}',
                lambda name=name, broken=broken: requests.serve(name, broken),
                max(longest, 3.0 * needed[name]),
                lambda: requests.check.seconds,
            )
            slowest = max(slowest, requests.check.seconds)
    print(f'the slowest check of a goal, in its own process: {slowest:.2f} s')
    return tallies
