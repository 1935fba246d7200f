"""Launch files, loaded and resolved by launch itself, without starting anything."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from declared_nodes import ROOT, declared_parameters, executables, nodes
from parameter_values import flattened, problems

# `launch` alone may be the folder of that name in an editable install
launch_ros = pytest.importorskip(
    'launch_ros', reason='launch and launch_ros are not on PyPI; they are part of every ROS 2'
)
packages = pytest.importorskip('ament_index_python.packages')

from launch import LaunchContext, LaunchDescription  # noqa: E402
from launch.actions import (  # noqa: E402
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
    Shutdown,
    TimerAction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402
from launch.utilities import perform_substitutions  # noqa: E402
from launch_ros.actions import Node  # noqa: E402

from pkm_description.errors import MissingWorldError  # noqa: E402
from pkm_dynamics.worlds import named_worlds  # noqa: E402

LAUNCH = ROOT / 'pkm_bringup' / 'launch'
FILES = ('view', 'control', 'simulation', 'robot', 'replay')


def description(name: str) -> LaunchDescription:
    source = PythonLaunchDescriptionSource(str(LAUNCH / f'{name}.launch.py'))
    return source.get_launch_description(LaunchContext())


def resolved(name: str, **arguments: str) -> dict[str, list[str]]:
    """Command lines that a launch file would start, by executable, all substitutions made."""
    context = LaunchContext()
    config = str(ROOT / 'pkm_bringup' / 'config')
    context.launch_configurations.update({'config': config} | arguments)
    found: dict[str, list[str]] = {}
    visit([description(name)], context, found)
    return found


def policy(node: Node) -> tuple[bool, float | None, int]:
    """Whether a node comes back, after how long [s], how often; launch has no names for these."""
    prefix = '_ExecuteLocal__respawn'
    comes_back = getattr(node, prefix)
    assert isinstance(comes_back, bool)
    return comes_back, getattr(node, f'{prefix}_delay'), getattr(node, f'{prefix}_max_retries')


def visit(entities, context: LaunchContext, found: dict[str, list[str]], policies=None) -> None:
    for entity in entities or []:
        if isinstance(entity, LaunchDescription):
            visit(entity.entities, context, found, policies)
        elif entity.condition is not None and not entity.condition.evaluate(context):
            continue
        elif isinstance(entity, Node):
            entity._perform_substitutions(context)
            given = {
                'name': f'__node:={entity.node_name.rpartition("/")[2]}',
                'ns': f'__ns:={entity.expanded_node_namespace}',
            }
            context.extend_locals({'ros_specific_arguments': given})
            # the first word is looked up where the package is installed
            name = f'{entity.node_package}/{entity.node_executable}'
            found[name] = words(entity.cmd[1:], context)
            if policies is not None:
                policies[name] = policy(entity)
        elif isinstance(entity, ExecuteProcess):
            found['process'] = words(entity.cmd, context)
        elif isinstance(entity, IncludeLaunchDescription | OpaqueFunction):
            visit(entity.execute(context), context, found, policies)
        elif isinstance(entity, TimerAction):
            visit(entity.actions, context, found, policies)
        elif isinstance(entity, DeclareLaunchArgument | SetLaunchConfiguration):
            entity.execute(context)


def words(command, context: LaunchContext) -> list[str]:
    return [perform_substitutions(context, word) for word in command]


def values_after(flag: str, command: list[str]) -> list[str]:
    return [b for a, b in zip(command, command[1:], strict=False) if a == flag]


def parameters(command: list[str]) -> dict:
    """What the parameter files on a command line set, later ones winning."""
    values: dict = {}
    for path in values_after('--params-file', command):
        for node in yaml.safe_load(Path(path).read_text()).values():
            values |= flattened(node['ros__parameters'])
    return values


def remappings(command: list[str]) -> dict[str, str]:
    return dict(pair.split(':=') for pair in values_after('-r', command))


@pytest.fixture
def ros2bag(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ROS 2 with rosbag2."""
    find = packages.get_package_prefix
    monkeypatch.setattr(
        packages, 'get_package_prefix', lambda name: '/' if name == 'ros2bag' else find(name)
    )


@pytest.mark.parametrize('name', [*FILES, 'mujoco', 'gazebo'])
def test_every_argument_is_described(name: str) -> None:
    arguments = {a.name: a for a in description(name).get_launch_arguments()}
    assert {'robot', 'namespace', 'config', 'joint_states', 'log_level'} <= set(arguments)
    for argument in arguments.values():
        assert 'no description' not in argument.description
        assert len(argument.description.split()) > 4, argument.name
        if argument.name in ('lockstep', 'autostart', 'servers', 'online', 'loop', 'use_sim_time'):
            assert argument.choices == ['true', 'false']


@pytest.mark.parametrize('name', FILES)
def test_nodes_exist_and_take_their_parameters(name: str, ros2bag: None) -> None:
    found = resolved(name, bag=str(ROOT), robot='palida')
    own = {key: command for key, command in found.items() if key.startswith('pkm_')}
    assert own
    for key, command in own.items():
        package, executable = key.split('/')
        assert executables()[executable][0] == package
        values = parameters(command)
        assert problems(values, executable) == []
        assert set(values) == set(declared_parameters(executable))
        assert values['robot'] == 'palida'
        assert remappings(command)['__node'] == executable
        assert values_after('--enclave', command) == [f'/pkm/{executable}']


def test_the_servo_is_that_of_the_parameter_file_or_of_arguments() -> None:
    usual = parameters(resolved('control', robot='palida')['pkm_control/trajectory_controller'])
    given = {'bandwidth': '6.5', 'damping': '0.9', 'gain_scale': '2', 'max_position_error': '0.02'}
    assert not any(usual[key] == float(value) for key, value in given.items())
    for name in ('control', 'simulation', 'robot'):
        command = resolved(name, robot='palida', **given)['pkm_control/trajectory_controller']
        found = parameters(command)
        for key, value in given.items():
            assert found[key] == float(value) and isinstance(found[key], float)
        assert name != 'control' or {k for k in usual if found[k] != usual[k]} == set(given)


@pytest.mark.parametrize('name', FILES)
def test_a_calibration_goes_to_each_node_that_reads_the_robot(name: str, ros2bag: None) -> None:
    given = {'online': 'true', 'monitor_model': 'model.yaml', 'bag': str(ROOT)}
    found = resolved(name, robot='palida', calibration='/home/me/machine.yaml', **given)
    own = {key: command for key, command in found.items() if key.startswith('pkm_')}
    assert own
    for key, command in own.items():
        robot = parameters(command)['robot']
        assert robot == 'palida calibration:=/home/me/machine.yaml', key


def test_each_node_has_its_enclave_also_those_of_other_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that is started has a policy under the name of its enclave."""
    text = (ROOT / 'pkm_bringup' / 'policies' / 'pkm.policy.xml').read_text()
    policies = set(re.findall('<enclave path="/pkm/([^"]*)"', text))
    share = str(ROOT / 'pkm_bringup')
    monkeypatch.setattr(packages, 'get_package_share_directory', lambda _: share)
    for viewer in ('rviz', 'foxglove'):
        for key, command in resolved('robot', viewer=viewer, enclaves='/left').items():
            (enclave,) = values_after('--enclave', command)
            assert enclave == f'/left/{remappings(command)["__node"]}', key
            assert enclave.removeprefix('/left/') in policies


def test_simulation_holds_everything() -> None:
    found = resolved('simulation', namespace='left', online='true', monitor_model='model.yaml')
    own = {key.split('/')[1] for key in found if key.startswith('pkm_')}
    assert own == set(nodes())
    assert {remappings(command)['__ns'] for key, command in found.items()} == {'/left'}


@pytest.mark.parametrize(('lockstep', 'mode'), [('true', 'state'), ('false', 'timer')])
def test_lockstep_is_one_thing_for_robot_and_controller(lockstep: str, mode: str) -> None:
    found = resolved('simulation', lockstep=lockstep, seed='7')
    plant = parameters(found['pkm_dynamics/simulated_robot'])
    assert (plant['lockstep'], plant['seed']) == (lockstep == 'true', 7)
    controller = parameters(found['pkm_control/trajectory_controller'])
    assert controller['update_mode'] == mode
    assert controller['autostart'] is True


@pytest.mark.parametrize('drives', ['forces', 'valves'])
def test_drives_are_one_thing_for_robot_and_controller(drives: str) -> None:
    topics = {'valve_commands': '/arm/valves'}
    found = resolved('simulation', **({} if drives == 'forces' else {'drives': drives}), **topics)
    for name in ('pkm_dynamics/simulated_robot', 'pkm_control/trajectory_controller'):
        assert parameters(found[name])['drives'] == drives
        assert remappings(found[name])['valve_controller/commands'] == '/arm/valves'


def test_real_robot_is_not_commanded_unasked_and_keeps_its_names() -> None:
    topics = {'joint_states': '/arm/joint_states', 'effort_commands': '/forward/commands'}
    found = resolved('robot', servers='false', **topics)
    own = {key.split('/')[1] for key in found if key.startswith('pkm_')}
    assert own == {'description_publisher', 'state_completer', 'trajectory_controller'}
    command = found['pkm_control/trajectory_controller']
    assert parameters(command)['autostart'] is False
    assert parameters(command)['update_mode'] == 'timer'
    assert remappings(command)['joint_states'] == '/arm/joint_states'
    assert remappings(command)['effort_controller/commands'] == '/forward/commands'
    completer = remappings(found['pkm_description/state_completer'])
    assert completer['joint_states'] == '/arm/joint_states'


def test_replay_plays_measurements_and_no_commands(ros2bag: None) -> None:
    command = resolved('replay', bag=str(ROOT), rate='0.5', loop='true')['process']
    assert command[:4] == ['ros2', 'bag', 'play', str(ROOT)]
    assert values_after('--rate', command) == ['0.5']
    assert '--loop' in command and '--clock' in command
    (left_out,) = values_after('--exclude-regex', command)
    for topic in (
        '/effort_controller/commands',
        '/valve_controller/commands',
        '/robot_description',
        '/left/platform_pose',
        '/tf',
    ):
        assert re.search(left_out, topic)
    for topic in ('/joint_states', '/motor_currents', '/trajectory_controller/state'):
        assert not re.search(left_out, topic)


def test_replay_names_what_is_missing(
    ros2bag: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RuntimeError, match='no such folder or file'):
        resolved('replay', bag=str(tmp_path / 'bag'))

    def nothing(name: str) -> str:
        raise packages.PackageNotFoundError(name)

    monkeypatch.setattr(packages, 'get_package_prefix', nothing)
    with pytest.raises(RuntimeError, match='rosbag2 is not installed'):
        resolved('replay', bag=str(tmp_path))


def test_nothing_is_replayed_into_a_secured_graph(
    ros2bag: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    with pytest.raises(RuntimeError, match='ROS_SECURITY_ENABLE'):
        resolved('replay', bag=str(ROOT))


def test_what_moves_the_robot_never_comes_back_by_itself() -> None:
    context = LaunchContext()
    values = {
        'config': str(ROOT / 'pkm_bringup' / 'config'),
        'monitor_model': 'm',
        'online': 'true',
    }
    context.launch_configurations.update(values)
    policies: dict = {}
    visit([description('simulation')], context, {}, policies)
    own = {name.split('/')[1]: each for name, each in policies.items() if name.startswith('pkm_')}
    assert set(own) == set(nodes())
    stay_away = {'trajectory_controller', 'excitation_server', 'simulated_robot'}
    assert {name for name, (comes_back, *_) in own.items() if not comes_back} == stay_away
    for name in set(own) - stay_away:
        assert own[name] == (True, 2.0, 5)


def test_the_tree_of_diagnostics_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    find = packages.get_package_share_directory
    name = 'diagnostic_aggregator'
    monkeypatch.setattr(
        packages,
        'get_package_share_directory',
        lambda package: '/' if package == name else find(package),
    )
    found = resolved('view', namespace='left')
    command = found[f'{name}/aggregator_node']
    assert remappings(command)['/diagnostics'] == 'diagnostics'
    assert remappings(command)['__ns'] == '/left'
    assert parameters(command)['path'] == 'Robot'
    assert f'{name}/aggregator_node' not in resolved('view', diagnostics='false')


@pytest.mark.parametrize('argument', ['viewer', 'lockstep', 'feedforward', 'log_level', 'world'])
def test_other_than_the_valid_choices_is_refused(argument: str) -> None:
    with pytest.raises(RuntimeError, match='provided value'):
        resolved('simulation', **{argument: 'perhaps'})


@pytest.fixture
def ros2_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ROS 2 with ros2_control and its interface to MuJoCo."""
    monkeypatch.setattr(packages, 'get_package_prefix', lambda name: '/')


def simulator(**arguments: str):
    """What mujoco.launch.py starts at once, by executable, and what follows which process."""
    context = LaunchContext()
    config = str(ROOT / 'pkm_bringup' / 'config')
    context.launch_configurations.update({'config': config} | arguments)
    file = description('mujoco')
    for entity in file.entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.execute(context)
    view, last = file.entities[-2:]
    visit([view], context, {})
    found: dict[str, list[str]] = {}
    handlers = []
    for entity in last.execute(context):
        if isinstance(entity, RegisterEventHandler):
            handlers.append(entity.event_handler)
        else:
            visit([entity], context, found)

    def after(process: int, status: int):
        (handler,) = [handlers[process]]
        event = SimpleNamespace(returncode=status, process_name='it')
        return handler._OnActionEventBase__on_event(event, context)

    return found, context, after


def test_mujoco_gets_the_robot_its_controllers_and_a_start_at_home(
    ros2_control: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('launch.logging.launch_config._log_dir', str(tmp_path))
    found, context, after = simulator(robot='delta', headless='true', namespace='left')
    manager = found['mujoco_ros2_control/ros2_control_node']
    files = values_after('--params-file', manager)
    content = {}
    for file in files:
        content |= yaml.safe_load(Path(file).read_text())
    joints = content['/left/effort_controller']['ros__parameters']['joints']
    assert len(joints) == 3
    published = found['robot_state_publisher/robot_state_publisher']
    urdf = parameters(published)['robot_description']
    assert remappings(published)['robot_description'] == 'ros2_control_description'
    assert remappings(manager)['robot_description'] == 'ros2_control_description'
    assert re.findall('<joint name="([^"]*)">\\s*<command_interface name="effort"', urdf) == joints
    (world,) = re.findall('name="mujoco_model">([^<]*)<', urdf)
    assert Path(world).is_file() and '<param name="headless">true' in urdf
    spawner = found['controller_manager/spawner']
    assert values_after('--controller-manager', spawner) == ['/left/controller_manager']
    hold, home = (after(step, 0) for step in (0, 1))
    assert '/left/effort_controller/commands' in words(hold.cmd, context)
    assert '/mujoco_ros2_control_node/reset_world' in words(home.cmd, context)
    moved: dict[str, list[str]] = {}
    visit([after(2, 0)], context, moved)
    controller = parameters(moved['pkm_control/trajectory_controller'])
    assert controller['autostart'] is True and controller['robot'] == 'delta'
    assert all(isinstance(after(step, 1), Shutdown) for step in range(3))


def test_mujoco_names_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> str:
        raise packages.PackageNotFoundError(name)

    monkeypatch.setattr(packages, 'get_package_prefix', nothing)
    with pytest.raises(RuntimeError, match='not installed: mujoco_ros2_control, controller_man'):
        simulator(robot='delta')


def test_gazebo_is_the_world_of_the_simulated_robot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_worlds, '_NEEDED', {})
    found = resolved('gazebo', headless='true', robot='delta')
    values = parameters(found['pkm_dynamics/simulated_robot'])
    assert (values['world'], values['robot'], values['lockstep']) == ('gazebo', 'delta', True)
    assert 'process' not in found
    assert parameters(found['pkm_control/trajectory_controller'])['autostart'] is True
    monkeypatch.setattr('shutil.which', lambda name: f'/bin/{name}')
    assert resolved('gazebo')['process'] == ['/bin/gz', 'sim', '-g']
    monkeypatch.setattr('shutil.which', lambda name: None)
    with pytest.raises(RuntimeError, match='headless:=true runs without it'):
        resolved('gazebo')


def test_gazebo_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> None:
        raise MissingWorldError('no Gazebo: none of its Python modules')

    monkeypatch.setattr(named_worlds, '_NEEDED', {'gazebo': nothing})
    with pytest.raises(RuntimeError, match='no Gazebo: none of its Python modules; simulation'):
        resolved('gazebo', headless='true')
