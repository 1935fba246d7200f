"""The tree of diagnostics: its groups against the statuses that the nodes really publish."""

from __future__ import annotations

import importlib
import re

import pytest
import yaml
from declared_nodes import ROOT, executables, nodes

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue  # noqa: E402
from graph import Graph  # noqa: E402
from rclpy.node import Node  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from pkm_description.nodes.graph_health import STALE, GraphHealth  # noqa: E402
from pkm_description.nodes.qos import LATCHED  # noqa: E402

TREE = ROOT / 'pkm_bringup' / 'config' / 'diagnostic_aggregator.yaml'
NEEDS_A_MODEL = 'force_monitor'  # its status has the name of the node: tests/test_force_monitor.py


def groups() -> dict[str, list[str]]:
    """Expressions of the groups, by group."""
    parameters = yaml.safe_load(TREE.read_text())['/**']['ros__parameters']
    found = {key: value for key, value in parameters.items() if isinstance(value, dict)}
    for group in found.values():
        assert group['type'] == 'diagnostic_aggregator/GenericAnalyzer'
    return {group['path']: group['regex'] for group in found.values()}


def matching(status: str) -> list[str]:
    # As the aggregator does: the whole name.
    return [
        path
        for path, patterns in groups().items()
        if any(re.fullmatch(pattern, status) for pattern in patterns)
    ]


def node_class(name: str):
    """The node of an executable: the class of the module that is a node."""
    module = importlib.import_module(executables()[name][1])
    (found,) = (
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Node) and each.__module__ == module.__name__
    )
    return found


@pytest.fixture(scope='module')
def graph(tmp_path_factory):
    lockstep = 'lockstep:=true', 'update_mode:=state', 'lockstep_timeout:=60.0'
    parameters = ('robot:=four_bar', *lockstep, f'data_folder:={tmp_path_factory.mktemp("data")}')
    with Graph(*parameters, remap=['__ns:=/left']) as running:
        running.listen(DiagnosticArray, 'diagnostics')
        for name in nodes():
            if name != NEEDS_A_MODEL:
                running.add(node_class(name))
        yield running


def heard(graph: Graph) -> dict[str, DiagnosticStatus]:
    return {s.name: s for array in graph.heard['diagnostics'] for s in array.status}


def told_by(graph: Graph) -> set[str]:
    return {name.partition(':')[0].rpartition('/')[2] for name in heard(graph)}


@pytest.mark.ros
def test_every_status_has_one_group_and_every_group_a_status(graph) -> None:
    expected = set(nodes()) - {NEEDS_A_MODEL}
    graph.until(lambda: told_by(graph) >= expected, 60.0)
    graph.until(lambda: '/left/trajectory_controller: ready to move' in heard(graph))
    names = [*heard(graph), f'/left/{NEEDS_A_MODEL}', *(nodes_without_namespace(graph))]
    found = {name: matching(name) for name in names}
    assert {name: paths for name, paths in found.items() if len(paths) != 1} == {}
    assert {paths[0] for paths in found.values()} == set(groups())


def nodes_without_namespace(graph: Graph) -> list[str]:
    return [name.removeprefix('/left') for name in heard(graph)]


def status(name, level=DiagnosticStatus.OK, message='', **values) -> DiagnosticArray:
    entries = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticArray(
        status=[DiagnosticStatus(name=name, level=level, message=message, values=entries)]
    )


class SilentNode:
    """Takes subscriptions and does nothing with them."""

    def create_subscription(self, *_) -> None:
        pass


@pytest.fixture
def health():
    now = [100.0]
    heard_by = GraphHealth(SilentNode(), ('excitation_server',), ('force_monitor',), lambda: now[0])
    heard_by.now = now
    return heard_by


def test_an_error_is_the_verdict_until_it_ends_or_is_told_no_more(health) -> None:
    assert health.complaint('d') == ''
    drive = '/left/drive_bus: leg 3'
    health.hear(status(drive, DiagnosticStatus.ERROR, 'over-temperature'))
    assert health.complaint('d') == f'{drive}: over-temperature'
    health.hear(status(drive, DiagnosticStatus.WARN, 'warm'))
    assert health.complaint('d') == ''
    health.hear(status(drive, DiagnosticStatus.ERROR, 'over-temperature'))
    health.now[0] += STALE
    assert health.complaint('d') == ''


def test_errors_of_those_who_record_are_no_hindrance(health) -> None:
    health.hear(status('/excitation_server', DiagnosticStatus.ERROR, 'disk full'))
    assert health.complaint('d') == ''


def test_a_watchman_may_not_fall_silent(health) -> None:
    health.hear(status('/force_monitor'))
    assert health.complaint('d') == ''
    health.now[0] += STALE
    assert 'force_monitor has fallen silent' in health.complaint('d')
    health.hear(status('/force_monitor'))
    assert health.complaint('d') == ''


def test_another_description_is_named(health) -> None:
    health.hear(status('/description_publisher', digest='other'))
    assert 'not the description' in health.complaint('d')
    assert health.complaint('other') == ''
    health.now[0] += STALE  # its publisher is gone
    assert health.complaint('d') == ''


@pytest.mark.ros
def test_the_verdict_of_the_controller_is_that_of_the_graph(graph) -> None:
    """An error of a node that is not the controller's keeps its verdict from being `ready`."""
    graph.listen(String, 'trajectory_controller/ready_to_move', LATCHED)
    verdicts = graph.heard['trajectory_controller/ready_to_move']
    (controller,) = (n for n in graph.nodes if n.get_name() == 'trajectory_controller')
    controller.trigger_configure()
    graph.until(lambda: controller.loop.has_recent_state)
    controller.trigger_activate()
    graph.until(lambda: verdicts and verdicts[-1].data == '', 30.0)
    told = graph.tester.create_publisher(DiagnosticArray, 'diagnostics', 10)
    graph.until(lambda: told.get_subscription_count() >= 2)
    told.publish(status('/left/drive_bus', DiagnosticStatus.ERROR, 'over-temperature'))
    graph.until(lambda: verdicts[-1].data == '/left/drive_bus: over-temperature')
    ready = '/left/trajectory_controller: ready to move'
    graph.until(lambda: heard(graph)[ready].message == '/left/drive_bus: over-temperature')
    assert heard(graph)[ready].level == DiagnosticStatus.WARN
    told.publish(status('/left/drive_bus'))
    graph.until(lambda: verdicts[-1].data == '')
