"""What the nodes of this project use of a graph, told by the graph itself while they work."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from unittest.mock import patch

import numpy as np
from graph import Graph
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from monitored_recordings import recorded
from rclpy.node import Node

import pkm_description
from pkm_bringup.commissioning.check_lines import any_failed
from pkm_bringup.nodes import commission_moves, lifeline
from pkm_bringup.nodes.commission_client import CONTROLLER, CommissionClient
from pkm_bringup.nodes.commission_moves import CommissionMoves
from pkm_bringup.nodes.estimate_listener import EstimateListener
from pkm_bringup.nodes.excite_client import run_excitation
from pkm_bringup.nodes.graph_client import GraphClient, GraphError
from pkm_bringup.nodes.state_listener import STATES, StateListener
from pkm_bringup.studies.runs.plants import excitation_of
from pkm_control.nodes.trajectory_controller import TrajectoryControllerNode
from pkm_description.nodes.description_publisher import DescriptionPublisher
from pkm_description.nodes.state_completer import StateCompleter
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.nodes.simulated_robot import SimulatedRobot
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_identification import identify, load
from pkm_identification.nodes.estimation_server import EstimationServer
from pkm_identification.nodes.excitation_server import ExcitationServer
from pkm_identification.nodes.force_monitor import ForceMonitorNode
from pkm_identification.nodes.online_estimator import OnlineEstimator
from pkm_msgs.action import Excite

ROBOT = 'four_bar'  # one drive: its nodes are the quickest
# Names outside of it are absolute; no other process has nodes in it.
NAMESPACE = f'/left_{os.getpid()}'
# How a node uses a name, and what such names are of.
KINDS = {
    'publish': 'topic',
    'subscribe': 'topic',
    'reply': 'service',
    'request': 'service',
    'execute': 'action',
    'call': 'action',
}
ACTION = '/_action/'  # in the names of the topics and services of an action
SELDOM = 50  # turns of the executor between two looks at the graph, which take longer
TURNS = 20  # of the executor between two turns of a client that waits
RECORDED = 4  # topics of a recording
ATTEMPTS = 5  # to record one
REPEATED = 4  # times a short recording, until it is long enough for the monitor
Uses = dict[str, set[str]]  # names by how they are used


class _RecordedError(Exception):
    """Enough has been seen."""


class WatchedGraph(Graph):
    """A graph in a namespace that notes what each node uses; names as a policy has them."""

    def __init__(self, *parameters: str) -> None:
        super().__init__(f'robot:={ROBOT}', *parameters, remap=[f'__ns:={NAMESPACE}'])
        self.uses: dict[str, Uses] = defaultdict(lambda: {kind: set() for kind in KINDS})
        self._turns = 0

    def look(self) -> None:
        """Note what the nodes use now."""
        for node, namespace in self.tester.get_node_names_and_namespaces():
            if node == self.tester.get_name() or namespace != NAMESPACE:
                continue
            for kind, action, what in (
                ('publish', 'execute', 'publisher'),
                ('subscribe', 'call', 'subscriber'),
                ('reply', 'execute', 'service'),
                ('request', 'call', 'client'),
            ):
                ask = getattr(self.tester, f'get_{what}_names_and_types_by_node')
                for full, _ in ask(node, namespace):
                    name, hidden, _ = full.partition(ACTION)
                    self.uses[node][action if hidden else kind].add(_relative(name, node))

    def until(self, condition: Callable[[], bool], timeout: float = 60.0) -> None:
        """Run the nodes until a condition holds, with a look now and then, and at the end."""

        def looked() -> bool:
            self._turns += 1
            if self._turns % SELDOM == 0:
                self.look()
            return condition()

        super().until(looked, timeout)

    def until_used(self, node: str, kind: str, name: str) -> None:
        """Run the nodes until one of them uses a name."""

        self.until(lambda: name in self.uses[node][kind])

    def spin(self) -> None:
        """Let the nodes run while somebody else waits."""
        for _ in range(TURNS):
            self.executor.spin_once(timeout_sec=0.0)
        self.until(lambda: True)


def _relative(full: str, node: str) -> str:
    own = f'{NAMESPACE}/{node}/'
    if full.startswith(own):
        return f'~/{full[len(own) :]}'
    return full.removeprefix(f'{NAMESPACE}/')


def used_names(folder: Path) -> dict[str, Uses]:
    """Let every node do what it does, in lockstep; what each used of the graph."""
    model = ClosedChainModel(pkm_description.load(ROBOT))
    own = ('lockstep:=true', 'update_mode:=state', 'autostart:=true', 'seed:=1')
    own += ('feedforward:=nominal',)  # else friction ends the first moves
    folders = (f'data_folder:={folder}', 'topic_timeout:=60.0')
    with WatchedGraph(*own, *folders, *monitored(model, folder)) as graph:
        for create in (DescriptionPublisher, EstimationServer, ExcitationServer):
            graph.add(create)
        excite(graph, model, folder)
        commission(graph, model)
        graph.add(StateCompleter)
        for create in (OnlineEstimator, ForceMonitorNode):
            node = graph.add(create).get_name()
            graph.until_used(node, 'subscribe', 'motor_currents')
        with EstimateListener('online_estimator/parameters', model.description):
            graph.until_used('pkm_monitor', 'subscribe', 'online_estimator/parameters')
        with StateListener(STATES, model):
            graph.until_used('pkm_view', 'subscribe', 'motor_currents')
        return dict(graph.uses)


def excite(graph: WatchedGraph, model: ClosedChainModel, folder: Path) -> None:
    """Ask for a recording before there is a robot, which the server waits for; then make one.

    Ends when it is recorded: later nothing is used that was not before. On a machine that stands
    still for seconds server and client take each other for gone; then it is asked for again.
    """
    server = 'excitation_server'
    heard = graph.uses[f'{server}_recorder']['subscribe']
    robot: list[Node] = []

    def check() -> None:
        graph.spin()
        if not robot and 'joint_states' in graph.uses[server]['subscribe']:
            robot.extend(map(graph.add, (SimulatedRobot, TrajectoryControllerNode)))
        if len(heard) == RECORDED:
            raise _RecordedError

    with GraphClient('pkm_excite', check) as client, suppress(_RecordedError):
        for attempt in range(ATTEMPTS):
            bag = str(folder / f'bag_{attempt}')
            goal = Excite.Goal(trajectory=to_message(excitation_of(model)), periods=1, bag=bag)
            with suppress(GraphError):
                run_excitation(client, goal, server, 60.0, lambda _: None)
    graph.until_used('trajectory_controller', 'publish', 'effort_controller/commands')


def commission(graph: WatchedGraph, model: ClosedChainModel) -> None:
    """Let the check-list listen, alone and before the first moves, which are as short as can be."""
    change = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    service = f'{NAMESPACE}/{CONTROLLER}/change_state'
    graph.until(lambda: graph.call(ChangeState, service, change).success)
    short, patient = {'HOLD': 0.05, 'DISTANCE': 1e-3}, {'GONE': inf, 'HEARTBEAT_TIMEOUT': 0.0}
    for moves in (False, True):
        with CommissionClient(model, check=graph.spin, moves=moves) as client:
            heard = graph.uses[client.node.get_name()]['subscribe']
            client.listen(60.0, lambda heard=heard: 'motor_currents' in heard)
            if moves:
                slow = patch.multiple(lifeline, **patient)
                with slow, patch.multiple(commission_moves, **short):
                    findings = CommissionMoves(client, lambda _: None).run(active=False)
                assert not any_failed(findings), findings
            graph.look()


def monitored(model: ClosedChainModel, folder: Path) -> tuple[str, str]:
    """Return the force monitor's parameters: an identified model, and a reference with commands."""
    run = recorded(ROBOT, seed=1)
    efforts = np.tile(run.efforts, (REPEATED, 1))
    reference = folder / 'reference.npz'
    np.savez(
        reference,
        time=np.arange(len(efforts)) * (run.time[1] - run.time[0]),
        joint_names=np.array(run.joint_names),
        positions=np.tile(run.positions, (REPEATED, 1)),
        currents=efforts / model.force_constants,
        commands=efforts,
        force_constants=model.force_constants,
        effort_delay=0.0,
        period=run.period,
    )
    found = identify(load(reference), model, 'wls')
    return f'model:={found.save(folder / "model.yaml")}', f'references:={reference}'
