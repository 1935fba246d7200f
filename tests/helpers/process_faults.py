"""What happens to processes while the robot moves: how it is done, and what must follow."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from laboratory import CONTROLLER
from lifecycle_msgs.msg import State, Transition
from process_laboratory import PATIENCE, ROBOT, SERVER, STATE_TIMEOUT, ProcessLaboratory

from pkm_bringup.nodes import graph_client
from pkm_control.control_types import ErrorCode
from pkm_control.stops import StopEvent
from pkm_dynamics.trajectories import Phase
from pkm_identification.datasets.bags.bag_reader import read_bag
from pkm_identification.nodes import excitation_run, excitation_server
from pkm_msgs.action import Excite

DRIVES = 'drives'  # in place of a category: nobody commands them any more
LOST = 'the rest of the motion'
ACTIVATE = 'activate the controller, send the goal again'
BAG = 'the rest of the run; the bag is closed as aborted'


@dataclass(frozen=True)
class Followed:
    """What a scenario saw."""

    since: int | None  # row after which the robot was to stop; None where it is not seen
    reported: str
    told: float  # [s] elapsed until somebody was told


@dataclass(frozen=True)
class ProcessFault:
    """One row of the table."""

    what: str
    category: str
    lost: str
    reported: str
    bound: float | None  # [s] that is configured until somebody is told, beyond the stop itself
    go_on: str
    scenario: Callable[[ProcessLaboratory], Followed]
    timed: bool

    @property
    def name(self) -> str:
        return self.scenario.__name__


PROCESS_FAULTS: list[ProcessFault] = []


def fault(what, category, lost, reported, bound, go_on, timed=False):
    """Register a scenario."""

    def add(scenario):
        given = what, str(category), lost, reported, bound, go_on, scenario, timed
        PROCESS_FAULTS.append(ProcessFault(*given))
        return scenario

    return add


def rows(timed: bool) -> list[ProcessFault]:
    """Those of one kind of laboratory."""
    return [each for each in PROCESS_FAULTS if each.timed == timed]


def category(event: StopEvent) -> str:
    return str(int(event.category))


def ended(lab: ProcessLaboratory, result, since: int | None, begun: float) -> Followed:
    lab.until(result.done, PATIENCE)
    told = time.monotonic() - begun
    code = ErrorCode(result.result().result.error_code)
    return Followed(since, code.name, told)


def signaled(lab: ProcessLaboratory, number: int) -> Followed:
    """A signal for the controller in motion; its process ends."""
    lab.ready()
    result = lab.moving()
    since, begun = len(lab.rows), time.monotonic()
    lab.send(lab.controller, number)
    found = ended(lab, result, since, begun)
    lab.until(lambda: lab.brakes_closed, PATIENCE)
    lab.kill(lab.controller, 0)  # it ends by itself
    return found


@fault(
    'the controller stands still for a second (SIGSTOP)',
    DRIVES,
    LOST,
    'BAD_STATE or STATE_TIMEOUT',
    0.0,
    'look for what stopped it, ' + ACTIVATE,
)
def controller_stopped(lab):
    lab.ready()
    result = lab.moving()
    since, begun = len(lab.rows), time.monotonic()
    lab.send(lab.controller, signal.SIGSTOP)
    try:
        lab.pass_by(1.0)
        assert lab.brakes_closed
        held, begun = lab.rows[-1].legs, time.monotonic()
    finally:
        lab.send(lab.controller, signal.SIGCONT)
    found = ended(lab, result, since, begun)
    lab.until(lambda: lab.is_in_state(State.PRIMARY_STATE_INACTIVE), PATIENCE)
    lab.pass_by(0.2)
    assert abs(lab.rows[-1].legs - held).max() < 1e-6  # it does not open the brakes again
    # by what it hears first of what has come meanwhile
    assert found.reported in ('BAD_STATE', 'STATE_TIMEOUT')
    return replace(found, reported='BAD_STATE or STATE_TIMEOUT')


@fault(
    'a second instance of the controller is started in motion',
    category(StopEvent.FOREIGN_COMMANDS),
    LOST,
    'FOREIGN_COMMANDS',
    0.0,
    'end one of them, activate the other',
)
def second_controller(lab):
    lab.ready()
    result = lab.moving()
    second = lab.start_controller()
    lab.until(lambda: lab.phase is Phase.STOPPING, PATIENCE)
    since, begun = len(lab.rows), time.monotonic()
    found = ended(lab, result, since, begun)
    lab.until(lambda: lab.brakes_closed, PATIENCE)
    lab.pass_by(0.1)
    assert lab.brakes_closed  # none of them commands now
    lab.kill(lab.controller, signal.SIGINT)
    lab.controller = second
    lab.until(lab.try_to_activate, PATIENCE)  # both may have stopped for each other
    lab.until(lambda: not lab.brakes_closed, PATIENCE)
    return found


@fault(
    'SIGINT of the controller',
    category(StopEvent.DEACTIVATION),
    LOST,
    'DEACTIVATED',
    0.0,
    'start the controller, activate it, send the goal again',
)
def controller_interrupted(lab):
    return signaled(lab, signal.SIGINT)


@fault(
    'SIGTERM of the controller',
    category(StopEvent.DEACTIVATION),
    LOST,
    'DEACTIVATED',
    0.0,
    'start the controller, activate it, send the goal again',
)
def controller_terminated(lab):
    return signaled(lab, signal.SIGTERM)


def outcome(lab: ProcessLaboratory, bag: str) -> str:
    """Name of the code with which the run of a bag has ended; waits for that."""
    metadata = ['pkm/metadata']
    lab.until(lambda: (lab.folder / bag).exists(), PATIENCE)
    text = read_bag(lab.folder / bag, metadata).text('/pkm/metadata')
    assert 'outcome: aborted' in text, text
    from yaml import safe_load

    number = safe_load(text)['error_code']
    return next(n for n in dir(type(Excite.Result)) if getattr(Excite.Result, n) == number)


def with_client(lab: ProcessLaboratory, bag: str):
    """Let `pkm excite run` move the robot; its process."""
    lab.ready(server=True)
    client = lab.run_client(bag)
    lab.at_full_speed()
    return client


@fault(
    '`pkm excite run` is killed',
    category(StopEvent.CANCEL),
    BAG,
    'CLIENT_LOST',
    excitation_server.WATCH_PERIOD,
    'start it again',
)
def client_killed(lab):
    client, begun = with_client(lab, 'killed'), time.monotonic()
    client.kill()
    lab.until(lambda: lab.phase is Phase.STOPPING, PATIENCE)
    since, told = len(lab.rows), time.monotonic() - begun
    client.communicate()
    return Followed(since, outcome(lab, 'killed'), told)


@fault(
    'SIGTERM of `pkm excite run`',
    category(StopEvent.CANCEL),
    BAG,
    'CANCELED, exit status 143',
    0.0,
    'start it again',
)
def client_terminated(lab):
    client = with_client(lab, 'terminated')
    since, begun = len(lab.rows), time.monotonic()
    client.send_signal(signal.SIGTERM)
    lab.until(lambda: client.poll() is not None, PATIENCE)
    told = time.monotonic() - begun
    assert "'excitation_server' has stopped" in client.communicate()[1]
    code = outcome(lab, 'terminated')
    return Followed(since, f'{code}, exit status {client.returncode}', told)


@fault(
    'the excitation server is killed',
    category(StopEvent.CLIENT_LOST),
    'the rest of the run; the bag has no end',
    'its client: gone, exit status 1',
    graph_client.SPIN,
    'start the server, run again',
)
def server_killed(lab):
    client, begun = with_client(lab, 'torn'), time.monotonic()
    lab.kill(SERVER)
    lab.until(lambda: client.poll() is not None or lab.phase is Phase.STOPPING, PATIENCE)
    lab.until(lambda: lab.phase is Phase.STOPPING, PATIENCE)
    since = len(lab.rows)
    lab.until(lambda: client.poll() is not None, PATIENCE)
    told = time.monotonic() - begun
    assert "'excitation_server' is gone" in client.communicate()[1]
    return Followed(since, f'its client: gone, exit status {client.returncode}', told)


@fault(
    'the controller is killed',
    DRIVES,
    BAG,
    'TOPIC_SILENT',
    excitation_run.POLL,
    'start the controller (others are known for 20 s more), activate it, run again',
)
def controller_killed(lab):
    lab.ready(server=True)
    result = lab.exciting('controller_killed')
    lab.until(lambda: lab.phase is Phase.RUN, PATIENCE)
    since, begun = len(lab.rows), time.monotonic()
    lab.kill(lab.controller)
    lab.until(result.done, PATIENCE)
    told = time.monotonic() - begun
    lab.until(lambda: lab.brakes_closed, PATIENCE)
    assert result.result().result.error_code == Excite.Result.TOPIC_SILENT
    return Followed(since, outcome(lab, 'controller_killed'), told)


@fault(
    'the killed controller is started again (`autostart:=false`)',
    'stays at rest',
    'nothing',
    'in `ready_to_move`: configure, activate',
    None,
    'look for what killed it, configure and activate it',
)
def controller_returns(lab):
    lab.without_controller()
    lab.heard[f'{CONTROLLER}/ready_to_move'].clear()
    held, begun = lab.rows[-1].legs, time.monotonic()
    lab.controller = lab.start_controller(autostart=False)
    lab.until(lambda: 'not configured: configure and activate' in lab.hindrance, PATIENCE)
    told = time.monotonic() - begun
    lab.change(Transition.TRANSITION_CONFIGURE)
    lab.until(lambda: 'the controller is not active' in lab.hindrance, PATIENCE)
    # the killed one is known for some time
    assert 'activate it' in lab.hindrance or 'wait until it is forgotten' in lab.hindrance
    lab.pass_by(0.1)
    assert lab.brakes_closed and abs(lab.rows[-1].legs - held).max() < 1e-6
    return Followed(None, 'in `ready_to_move`: configure, activate', told)


AS_SILENT = f'{category(StopEvent.STATES_LOST)}, then {category(StopEvent.STATE_TIMEOUT)}'


def silent(lab: ProcessLaboratory, result, begun: float) -> Followed:
    """What the controller tells of a robot that says nothing more."""
    found = ended(lab, result, None, begun)
    lab.until(lambda: lab.is_in_state(State.PRIMARY_STATE_INACTIVE), PATIENCE)
    return found


@fault(
    'the robot (its driver) stands still for a second (SIGSTOP)',
    AS_SILENT,
    LOST,
    'STATE_TIMEOUT',
    STATE_TIMEOUT,
    ACTIVATE,
    timed=True,
)
def robot_stopped(lab):
    lab.ready()
    result, begun = lab.moving(), time.monotonic()
    lab.send(ROBOT, signal.SIGSTOP)
    try:
        found = silent(lab, result, begun)
    finally:
        lab.send(ROBOT, signal.SIGCONT)
    lab.until(lambda: lab.brakes_closed, PATIENCE)
    return found


@fault(
    'the robot (its driver) is killed',
    AS_SILENT,
    LOST,
    'STATE_TIMEOUT',
    STATE_TIMEOUT,
    'start it, ' + ACTIVATE,
    timed=True,
)
def robot_killed(lab):
    lab.ready()
    result, begun = lab.moving(), time.monotonic()
    lab.kill(ROBOT)
    return silent(lab, result, begun)
