"""The SROS 2 policies: what every node uses and nothing else, and few who can move the robot."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree

import pytest
import setuptools
from declared_nodes import ROOT, nodes

pytest.importorskip('rclpy')

from node_rights import KINDS, Uses, used_names
from policies import OTHERS, POLICIES, PREFIX, VERSION, allowed, enclave_of, expected, written

from pkm_bringup.processes import NodeProcesses, ProcessError

CONTROLLER = 'trajectory_controller'
# They start the nodes of a simulated robot themselves, and only without security.
WITHOUT_POLICY = {'pkm_client', 'pkm_bench', 'pkm_bench_goal', 'pkm_bench_listener'}
# What moves, frees or blinds a robot, and who may do it.
ROBOTS = {'simulated_robot', 'robot'}
ENTITLED = {
    ('publish', 'effort_controller/commands'): {CONTROLLER},
    ('publish', 'valve_controller/commands'): {CONTROLLER},
    ('publish', 'brakes/close'): {CONTROLLER},
    ('publish', 'joint_states'): ROBOTS,
    ('publish', 'motor_currents'): ROBOTS,
    ('publish', 'brakes/closed'): ROBOTS,
    ('publish', 'drives/ready'): {'robot'},
    ('publish', 'drives/homed'): {'robot'},
    ('publish', 'robot_description'): {'description_publisher'},
    ('publish', f'{CONTROLLER}/protective_stop'): {'force_monitor', 'operator', 'stop_device'},
    ('publish', f'{CONTROLLER}/enabling_device'): {'stop_device'},
    ('publish', f'{CONTROLLER}/speed_override'): {'operator'},
    ('publish', f'{CONTROLLER}/joint_trajectory'): set(),
    ('publish', f'{CONTROLLER}/heartbeat'): {'excitation_server', 'pkm_commission_move'},
    ('publish', 'excitation_server/heartbeat'): {'pkm_excite'},
    ('request', f'{CONTROLLER}/change_state'): {'operator', 'pkm_commission_move'},
    ('request', f'{CONTROLLER}/reset_protective_stop'): {'operator'},
    ('request', f'{CONTROLLER}/protective_stop'): {'operator'},
    ('request', f'{CONTROLLER}/recover'): {'operator'},
    ('request', f'{CONTROLLER}/set_parameters'): {'operator'},
    ('request', f'{CONTROLLER}/set_parameters_atomically'): {'pkm_commission_move'},
    ('request', f'{CONTROLLER}/set_model'): {'estimation_server'},
    ('request', 'estimation_server/apply_model'): {'operator'},
    ('call', f'{CONTROLLER}/follow_platform_trajectory'): {'excitation_server'},
    ('call', f'{CONTROLLER}/jog'): {'operator', 'pkm_commission_move'},
    ('call', 'excitation_server/excite'): {'operator', 'pkm_excite'},
}


@pytest.fixture(scope='module')
def policy() -> dict[str, Uses]:
    return allowed(POLICIES.read_text())


@pytest.mark.ros
def test_each_node_may_do_what_it_does_and_nothing_else(
    policy: dict[str, Uses], tmp_path: Path
) -> None:
    """A new topic, service or action belongs into the policies, one that is gone does not."""
    seen = expected(used_names(tmp_path))
    assert set(seen) == set(policy) - set(OTHERS)
    for node, uses in seen.items():
        for kind in KINDS:
            denied, idle = uses[kind] - policy[node][kind], policy[node][kind] - uses[kind]
            hint = '`python tests/helpers/policies.py` writes the policies anew'
            assert not denied, f'{node} may not {kind} {sorted(denied)}: {hint}'
            assert not idle, f'{node} does not {kind} {sorted(idle)}: {hint}'


def test_the_others_are_as_in_their_table(policy: dict[str, Uses]) -> None:
    for name, uses in OTHERS.items():
        assert {kind: names for kind, names in policy[name].items() if names} == uses
    assert written(policy) == POLICIES.read_text()


def test_every_node_of_the_sources_has_a_policy(policy: dict[str, Uses]) -> None:
    assert set(nodes()) <= set(policy)
    found = {name for path in ROOT.glob('pkm_*/pkm_*/nodes/*.py') for name in node_names(path)}
    assert found - WITHOUT_POLICY <= set(policy)
    assert WITHOUT_POLICY <= found


def node_names(path: Path) -> set[str]:
    """Names that a module gives to nodes."""
    names = set()
    for call in ast.walk(ast.parse(path.read_text())):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        made = ast.unparse(call.func)
        first = call.args[0]
        if made in ('super().__init__', 'Node', 'GraphClient', 'rclpy.create_node'):
            chosen = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
            texts = (each.value for each in chosen if isinstance(each, ast.Constant))
            names |= {text for text in texts if isinstance(text, str)}
    return names


def test_who_has_no_policy_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pkm demo` and `pkm bench`, before they start a node."""
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    with NodeProcesses(tmp_path) as processes:
        with pytest.raises(ProcessError, match="'robot' has no key, and ROS_SECURITY_ENABLE is"):
            processes.start('robot', 'this')


@pytest.mark.parametrize(('kind', 'name'), ENTITLED, ids=' '.join)
def test_who_can_move_the_robot(policy: dict[str, Uses], kind: str, name: str) -> None:
    found = set()
    for each, uses in policy.items():
        for pattern in uses[kind]:
            own = pattern.replace('~', each, 1) if pattern.startswith('~') else pattern
            if fnmatchcase(name, own.removeprefix('/')):
                found.add(each)
    assert found == ENTITLED[kind, name]


def test_wildcards_let_people_listen_and_no_more(policy: dict[str, Uses]) -> None:
    """A star in a name that is published or served would let a key pretend to be others."""
    for node, uses in policy.items():
        for kind in KINDS:
            stars = {name for name in uses[kind] if '*' in name}
            if kind == 'subscribe':
                assert not stars or node in ('operator', 'rviz2', 'foxglove_bridge')
            else:  # nodes of which nobody chooses the name
                own = {
                    '/_ros2cli_*/get_type_description',
                    '/transform_listener_impl_*/get_type_description',
                }
                assert stars <= own


def test_nobody_answers_for_another_node(policy: dict[str, Uses]) -> None:
    for node, uses in policy.items():
        for kind in ('reply', 'execute'):
            for name in uses[kind]:
                assert name.startswith(('~/', f'/{node}/', '/_ros2cli_*/', '/transform_listener'))


def test_the_file_has_the_form_of_the_schema(policy: dict[str, Uses]) -> None:
    """Elements and attributes of schema 0.2.0; one enclave a process, with the node's name."""
    root = ElementTree.fromstring(POLICIES.read_text())
    assert (root.tag, root.attrib) == ('policy', {'version': VERSION})
    (enclaves,) = root
    paths = [enclave.attrib['path'] for enclave in enclaves]
    assert len(set(paths)) == len(paths)
    assert {enclave_of(node) for node in policy} == set(paths)
    for enclave in enclaves:
        assert enclave.tag == 'enclave' and set(enclave.attrib) == {'path'}
        (profiles,) = enclave
        assert profiles.tag == 'profiles'
        names = [profile.attrib['node'] for profile in profiles]
        assert enclave.attrib['path'].removeprefix(PREFIX) in names
        for profile in profiles:
            assert profile.tag == 'profile' and profile.attrib['ns'] == '/'
            for group in profile:
                (kind,) = group.attrib
                assert group.tag == f'{KINDS[kind]}s'
                assert len(group) and {entry.tag for entry in group} == {KINDS[kind]}


def test_the_package_installs_the_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ROOT / 'pkm_bringup'
    told: dict = {}
    monkeypatch.setattr(setuptools, 'setup', lambda **arguments: told.update(arguments))
    monkeypatch.chdir(package)
    runpy.run_path('setup.py')
    assert dict(told['data_files'])['share/pkm_bringup/policies'] == ['policies/pkm.policy.xml']


def test_the_page_says_how_names_are_changed(policy: dict[str, Uses], tmp_path: Path) -> None:
    """Its `sed` lines: into a namespace, and to other topics."""
    page = (ROOT / 'pkm_bringup' / 'doc' / 'security.md').read_text()
    files = {}
    for line in re.findall(r'^sed .*$', page, re.MULTILINE):
        command, _, file = line.partition(' > ')
        _, script, source = shlex.split(command)
        assert source == POLICIES.name
        done = subprocess.run(['sed', script, POLICIES], capture_output=True, text=True, check=True)
        files[file] = done.stdout
    left = ElementTree.fromstring(files['left.policy.xml'])
    assert allowed(files['left.policy.xml']) == policy
    assert {profile.attrib['ns'] for profile in left.iter('profile')} == {'/left'}
    paths = {enclave.attrib['path'] for enclave in left.iter('enclave')}
    assert paths == {f'/left/{enclave_of(node).removeprefix(PREFIX)}' for node in policy}
    mine = allowed(files['my.policy.xml'])
    assert '/forward/commands' in mine[CONTROLLER]['publish']
    assert '/arm/joint_states' in mine[CONTROLLER]['subscribe']
    assert {'joint_states', 'effort_controller/commands'}.isdisjoint(
        name for uses in mine.values() for names in uses.values() for name in names
    )


def test_the_page_names_every_enclave(policy: dict[str, Uses]) -> None:
    page = (ROOT / 'pkm_bringup' / 'doc' / 'security.md').read_text()
    table = page.partition('## Who may do what')[2].partition('## Step')[0]
    paths = {enclave_of(node).removeprefix(PREFIX) for node in policy}
    assert all(f'`{name}`' in table for name in paths)
    assert f'shows {len(paths)})' in page
