"""The two rules of the architecture: mathematics without ROS, data flowing one way."""

from pathlib import Path

import pytest
from import_rules import LAYERS, layer_violations, read_imports, ros_violations

ROOT = Path(__file__).resolve().parents[1]


def test_every_package_has_sources() -> None:
    packages = {item.package for item in read_imports(ROOT)}
    assert packages == set(LAYERS)


def test_only_nodes_import_ros() -> None:
    assert ros_violations(read_imports(ROOT)) == []


def test_data_flows_one_way() -> None:
    assert layer_violations(read_imports(ROOT)) == []


def write(root: Path, path: str, source: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)


@pytest.mark.parametrize(
    'source',
    [
        'import rclpy',
        'import rclpy.node as node',
        'from sensor_msgs.msg import JointState',
        'from pkm_msgs.msg import MotorCurrents',
        'from builtin_interfaces.msg import Time',
        'from std_srvs.srv import Trigger',
        'def late():\n    import rclpy',
        'try:\n    import tf2_ros\nexcept ImportError:\n    pass',
        "import importlib\nimportlib.import_module('rclpy')",
        "import importlib as i\nname = 'rclpy.node'\ni.import_module(name)",
        "from importlib import import_module as load\nload(f'rclpy.{1}')",
        "__import__('pkm_msgs')",
        "import importlib.metadata\nimportlib.import_module('rclpy')",
        "from importlib.util import find_spec as find\nfind('rclpy')",
        'from .nodes import plant',
        'from . import nodes',
        'from pkm_dynamics.nodes.plant import Plant',
        'import pkm_description.nodes',
    ],
)
def test_ros_import_is_found(tmp_path: Path, source: str) -> None:
    write(tmp_path, 'pkm_dynamics/pkm_dynamics/model.py', source)
    assert ros_violations(read_imports(tmp_path))


@pytest.mark.parametrize(
    ('path', 'source'),
    [
        ('pkm_dynamics/pkm_dynamics/nodes/plant.py', 'import rclpy'),
        ('pkm_bringup/launch/simulation.launch.py', 'import launch_ros'),
        ('pkm_bringup/pkm_bringup/cli.py', 'from pkm_bringup.nodes import demo'),
        ('pkm_dynamics/setup.py', 'import ament_package'),
        ('pkm_identification/pkm_identification/bags.py', 'import rosbags.highlevel'),
        ('pkm_identification/pkm_identification/bags.py', "TYPE = 'sensor_msgs/msg/JointState'"),
        ('pkm_dynamics/pkm_dynamics/model.py', '"""Does not import rclpy."""\nimport numpy'),
        (
            'pkm_dynamics/pkm_dynamics/versions.py',
            "from importlib.metadata import version\nversion('rclpy')",
        ),
    ],
)
def test_allowed_import_passes(tmp_path: Path, path: str, source: str) -> None:
    write(tmp_path, path, source)
    imports = read_imports(tmp_path)
    assert ros_violations(imports) == []
    assert layer_violations(imports) == []


@pytest.mark.parametrize(
    ('importer', 'imported'),
    [
        (importer, imported)
        for importer, allowed in LAYERS.items()
        for imported in LAYERS
        if imported != importer and imported not in allowed
    ],
)
@pytest.mark.parametrize('form', ['import {}.x', 'from {} import x', "__import__('{}')"])
def test_backward_import_is_found(tmp_path: Path, importer: str, imported: str, form: str) -> None:
    path = f'{importer}/{importer}/nodes/module.py'
    write(tmp_path, path, form.format(imported))
    violations = layer_violations(read_imports(tmp_path))
    assert violations
    assert all(text.startswith(f'{path}:1 imports {imported}') for text in violations)


@pytest.mark.parametrize(
    ('importer', 'imported'),
    [(importer, imported) for importer, allowed in LAYERS.items() for imported in sorted(allowed)],
)
def test_forward_import_passes(tmp_path: Path, importer: str, imported: str) -> None:
    write(tmp_path, f'{importer}/{importer}/module.py', f'import {imported}')
    assert layer_violations(read_imports(tmp_path)) == []
