"""Rules of the architecture: mathematics without ROS, data flowing one way, no cycles, no clutter.

Rules that do not hold everywhere yet have a list of known violations, which must shrink:
`tests/helpers/known_violations.txt`.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from import_rules import LAYERS, layer_violations, read_imports, ros_violations
from source_rules import RULES, Module, known_violations, read_modules, violations

ROOT = Path(__file__).resolve().parents[1]
LOADED_BY_IDENTIFICATION = 60
"""Modules of ours that `import pkm_identification` may load."""


def test_every_package_has_sources() -> None:
    packages = {item.package for item in read_imports(ROOT)}
    assert packages == set(LAYERS)


def test_only_nodes_import_ros() -> None:
    assert ros_violations(read_imports(ROOT)) == []


def test_data_flows_one_way() -> None:
    assert layer_violations(read_imports(ROOT)) == []


@pytest.fixture(scope='module')
def modules() -> dict[str, Module]:
    return read_modules(ROOT)


@pytest.mark.parametrize('rule', RULES)
def test_rule_on_sources(modules: dict[str, Module], rule: str) -> None:
    found, known = set(violations(rule, modules)), set(known_violations()[rule])
    assert not found - known, 'new; mend them, or run source_rules.py if a file was moved'
    assert not known - found, 'mended: run `python tests/helpers/source_rules.py`'


@pytest.mark.parametrize(
    ('rule', 'sources', 'expected'),
    [
        ('cycles', {'a': 'from pkm_control import b', 'b': 'x = 1'}, 0),
        ('cycles', {'a': 'from pkm_control import b', 'b': 'def f():\n    from . import a'}, 2),
        (
            'cycles',
            {'a': 'import pkm_control.b', 'b': 'if TYPE_CHECKING:\n    from .a import A'},
            2,
        ),
        ('cycles', {'a': 'from .b import B', 'b': 'from .c import C', 'c': 'from .a import A'}, 3),
        ('cycles', {'__init__': 'from .a import A', 'a': 'from pkm_control import B'}, 2),
        ('folders', {f'm{i}': '' for i in range(20)}, 0),
        ('folders', {f'm{i}': '' for i in range(21)}, 1),
        ('names', {'x/figures': '', 'y/figures': '', 'x/__init__': '', 'y/__init__': ''}, 2),
        ('long types', {'a': 'class Longitude: ...'}, 0),
        ('long types', {'a': 'from b import LongDataset\nx = b.LongTruth'}, 2),
        ('hidden imports', {'a': 'from typing import TYPE_CHECKING'}, 1),
        ('any models', {'a': 'def f(model: Any): ...'}, 1),
        ('any models', {'a': 'def f(model: ClosedChainModel, x: Any): ...'}, 0),
        ('wording', {'a': "def f(error):\n    return 'shape' in str(error)"}, 1),
        ('wording', {'a': "x = status.message.startswith('stopped')"}, 1),
        ('wording', {'a': "x = reason.partition(' ')[0]"}, 1),
        ('wording', {'a': "x = re.match('sing', str(error))"}, 1),
        ('wording', {'a': "x = outcome.message == 'canceled'"}, 1),
        ('wording', {'a': "x = 'residuals' in str(result.diagnostics.get('noise_from'))"}, 1),
        ('wording', {'a': "x = name.endswith('.m') or status == 'optimal' or 'a' in names"}, 0),
        ('diagnostics', {'a': "x = result.diagnostics['rank']"}, 1),
        ('diagnostics', {'a': "def f(r):\n    return r.diagnostics.get('rank')"}, 1),
        ('diagnostics', {'a': 'x = result.diagnostics.rank'}, 0),
    ],
)
def test_violations_are_found(
    tmp_path: Path, rule: str, sources: dict[str, str], expected: int
) -> None:
    for name, source in sources.items():
        write(tmp_path, f'pkm_control/pkm_control/{name}.py', source)
    assert len(violations(rule, read_modules(tmp_path))) == expected


def test_import_of_identification_loads_what_it_needs() -> None:
    code = (
        'import sys, pkm_identification\n'
        "print(sum(name.partition('.')[0].startswith('pkm_') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True, timeout=300
    )
    assert int(done.stdout) <= LOADED_BY_IDENTIFICATION


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
