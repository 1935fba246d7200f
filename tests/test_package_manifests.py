"""What the packages declare: all that they import, for rosdep and for pip, in one version."""

from __future__ import annotations

import ast
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from catkin_pkg.changelog import get_changelog_from_path
from import_rules import LAYERS, ROS_MODULE, read_imports

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [*LAYERS, 'pkm_msgs']
# rosdep keys that are not `python3-<module>`; None: there is none, doc/installation.md names them
KEYS = {
    'PIL': 'python3-pil',
    'clarabel': None,
    'llvmlite': None,
    'mujoco': 'python3-mujoco-pip',
    'piqp': None,
    'rosbags': 'python3-rosbags-pip',
    'threadpoolctl': None,
    'xacro': 'xacro',
}
DISTRIBUTIONS = {'PIL': 'pillow', 'jinja2': 'Jinja2', 'yaml': 'PyYAML'}
# Imported where they are installed, and named where they are missing.
OPTIONAL = {'casadi', 'distributed', 'pinocchio', 'pydrake', 'pyarrow', 'trimesh', 'viser'}
ROS = 'ros'  # extra of pkm_bringup: ROS 2 from wheels
# Nodes of ROS in Python tell what else they need: launch files the nodes that they start.
STARTED = {'pkm_bringup': {'robot_state_publisher', 'ros2launch'}}


def imported(package: str) -> set[str]:
    """Names of the foreign modules that a package imports."""
    own = sys.stdlib_module_names | {'__future__', package}
    heads = {
        each.module.partition('.')[0] for each in read_imports(ROOT) if each.package == package
    }
    known = set(KEYS) | {'numpy', 'scipy', 'yaml', 'lxml', 'jinja2', 'matplotlib', 'rich'}
    known |= {'transforms3d', 'numba', 'joblib', 'cycler', *OPTIONAL, *PACKAGES}
    found = {name for name in heads - own if name in known or ROS_MODULE.fullmatch(name)}
    unknown = plainly_imported(package) - own - found
    assert not unknown, f'no key is known for {unknown}'
    return found


def messages_project() -> dict[str, Any]:
    """What pip reads of `pkm_msgs`."""
    text = (ROOT / 'pkm_msgs/pyproject.toml').read_text()
    found: dict[str, Any] = tomllib.loads(text)['project']
    return found


def plainly_imported(package: str) -> set[str]:
    """Names of the modules of import statements, without those that only look like modules."""
    found = set()
    for path in (ROOT / package).rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition('.')[0])
    return found - {'setuptools'}


def set_up(package: str) -> dict[str, Any]:
    """Return what `setup.py` of a package passes to setuptools, as far as it is literal."""
    tree = ast.parse((ROOT / package / 'setup.py').read_text('utf-8'))
    call = next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'setup'
    )
    found = {}
    for keyword in call.keywords:
        try:
            found[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            continue
    return found


def names_of(requirements: list[str]) -> dict[str, str]:
    """Distributions by their names in lower case, with what is asked of their versions."""
    parts = (re.fullmatch(r'([\w-]+)(.*)', each) for each in requirements)
    return {part[1].lower(): part[2] for part in parts if part}


@pytest.mark.parametrize('package', LAYERS)
def test_rosdep_installs_what_is_imported(package: str) -> None:
    tree = ElementTree.parse(ROOT / package / 'package.xml')
    declared = {each.text for each in tree.iter('exec_depend')}
    needed = {
        name
        if ROS_MODULE.fullmatch(name) or name in PACKAGES
        else KEYS.get(name, f'python3-{name}')
        for name in imported(package) - OPTIONAL
    }
    assert declared == needed - {None} | STARTED.get(package, set())


@pytest.mark.parametrize('package', LAYERS)
def test_pip_installs_what_is_imported_apart_from_ros(package: str) -> None:
    given = set_up(package)
    foreign = {
        name for name in imported(package) if not ROS_MODULE.fullmatch(name) and name != 'pkm_msgs'
    }
    needed = {DISTRIBUTIONS.get(name, name).lower() for name in foreign - OPTIONAL}
    assert set(names_of(given['install_requires'])) == needed
    groups = given['extras_require']
    extras = {each for name in {*groups} - {ROS} for each in names_of(groups[name])}
    assert extras == {'pytest'} | {
        {'pinocchio': 'pin', 'pydrake': 'drake'}.get(name, name) for name in foreign & OPTIONAL
    }


def test_ros_from_wheels_is_that_which_the_messages_are_built_with() -> None:
    tried = (ROOT / 'requirements/ros.txt').read_text().splitlines()
    asked = set_up('pkm_bringup')['extras_require'][ROS]
    assert {*asked} - {*tried} == {'pkm_msgs'}
    missing = [each for each in tried if '-msgs' in each and each not in asked]
    assert any('ros-rclpy' in each for each in asked) and not missing


def test_oldest_versions_are_the_oldest_that_are_tried() -> None:
    """The requirements pin what the tests run with, on each interpreter."""
    pinned: dict[str, list[tuple[int, ...]]] = {}
    for file in ('runtime.txt', 'runtime-numpy1.txt', 'constraints.txt'):
        text = (ROOT / 'requirements' / file).read_text()
        for name, version in re.findall(r'^([\w-]+)[>=]=(\d[\d.]*\d|\d)', text, re.MULTILINE):
            pinned.setdefault(name.lower(), []).append(tuple(map(int, version.split('.'))))
    for package in LAYERS:
        for name, asked in names_of(set_up(package)['install_requires']).items():
            if name in PACKAGES:
                continue
            least = tuple(map(int, asked.removeprefix('>=').split('.')))
            assert min(pinned[name])[: len(least)] == least, (package, name)


def test_one_version() -> None:
    manifests = ROOT.glob('pkm_*/**/package.xml')
    found = {str(path): ElementTree.parse(path).findtext('version') for path in manifests}
    found |= {f'{package}/setup.py': set_up(package)['version'] for package in LAYERS}
    found['pkm_msgs/pyproject.toml'] = messages_project()['version']
    assert len(found) > len(PACKAGES) + len(LAYERS) and len(set(found.values())) == 1, found


@pytest.mark.parametrize('package', PACKAGES)
def test_release_tools_read_the_changelog(package: str) -> None:
    changelog = get_changelog_from_path(str(ROOT / package / 'CHANGELOG.rst'), package)
    versions = [version for version, _, _ in changelog.foreach_version()]
    assert versions[0] == ElementTree.parse(ROOT / package / 'package.xml').findtext('version')
    assert changelog.get_content_of_version(versions[0])


def test_packages_without_a_key_are_named() -> None:
    page = (ROOT / 'doc/installation.md').read_text()
    assert all(f'`{name}`' in page for name, key in KEYS.items() if key is None)
    assert all(f'`{name}`' in page for name in OPTIONAL)


def test_the_wheel_of_the_messages_asks_for_what_its_manifest_does() -> None:
    manifest = ElementTree.parse(ROOT / 'pkm_msgs/package.xml')
    keys = {each.text for kind in ('depend', 'exec_depend') for each in manifest.iter(kind)}
    asked = {str(name) for name in messages_project()['dependencies']}
    assert asked == {f'ros-{key.replace("_", "-")}' for key in keys if key}


@pytest.mark.slow
def test_an_sdist_of_the_messages_has_all_of_them(tmp_path: Path) -> None:
    from distributions import source_archive

    package = tmp_path / 'pkm_msgs'
    shutil.copytree(ROOT / 'pkm_msgs', package)
    with tarfile.open(source_archive(package, tmp_path)) as archive:
        names = {name.partition('/')[2] for name in archive.getnames()}
    assert {'CMakeLists.txt', 'package.xml', 'pyproject.toml'} <= names
    for kind in ('msg', 'srv', 'action'):
        files = {f'{kind}/{path.name}' for path in (ROOT / 'pkm_msgs' / kind).iterdir()}
        assert files and files <= names


@pytest.mark.slow
@pytest.mark.parametrize('package', LAYERS)
def test_a_wheel_has_what_lies_in_the_package(package: str, tmp_path: Path) -> None:
    """Built from the sdist: what that lacks, the wheel lacks, too."""
    from distributions import build

    wheel = build(ROOT / package, tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry_points = [name for name in names if name.endswith('entry_points.txt')]
    assert entry_points
    folder = ROOT / package / package
    files = {
        str(path.relative_to(ROOT / package))
        for path in folder.rglob('*')
        if path.is_file() and '__pycache__' not in path.parts
    }
    assert files <= names
    for shared in ('launch', 'config', 'policies', 'rviz', 'foxglove'):
        for path in (ROOT / package / shared).rglob('*'):
            if path.is_file() and '__pycache__' not in path.parts:
                place = f'data/share/{package}/{path.relative_to(ROOT / package)}'
                assert any(name.endswith(place) for name in names), place
