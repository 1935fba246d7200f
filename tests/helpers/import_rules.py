"""Reads the imports of the packages' sources and checks them against the architecture."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LAYERS: dict[str, frozenset[str]] = {
    'pkm_description': frozenset(),
    'pkm_dynamics': frozenset({'pkm_description'}),
    'pkm_identification': frozenset({'pkm_description', 'pkm_dynamics'}),
    'pkm_control': frozenset({'pkm_description', 'pkm_dynamics'}),
    'pkm_bringup': frozenset(
        {'pkm_description', 'pkm_dynamics', 'pkm_identification', 'pkm_control'}
    ),
}
"""Each package with the packages that it may import; `pkm_msgs` is a matter of the ROS rule."""

ROS_MODULE = re.compile(
    r'(rclpy|_rclpy\w*|rpyutils|rosidl_\w+|rosbag2_py|ament_\w+|launch|launch_\w+|ros2\w+'
    r'|tf2_\w+|\w+_msgs|\w+_srvs|\w+_interfaces)(\.\w+)*'
)
IMPORTERS = {'import_module', '__import__', 'find_spec', 'run_module', 'resolve_name'}


@dataclass(frozen=True)
class Import:
    """One imported module, where it is imported."""

    package: str
    path: Path
    line: int
    module: str

    @property
    def in_node(self) -> bool:
        """Whether the importing file is part of the ROS side: `nodes/` or a launch file."""
        parts = self.path.parts
        return 'nodes' in parts or 'launch' in parts or self.path.name.endswith('.launch.py')

    def __str__(self) -> str:
        return f'{self.path}:{self.line} imports {self.module}'


def _absolute(node: ast.ImportFrom, package: tuple[str, ...]) -> list[str]:
    """Module names of a from-import: the module itself and each imported name under it."""
    base = package[: len(package) - node.level + 1] if node.level else ()
    stem = '.'.join((*base, *([node.module] if node.module else [])))
    return [stem, *(f'{stem}.{alias.name}' for alias in node.names)]


def _imports_by_name(module: str) -> bool:
    """Whether a module can import others by their name; versions and data files do not."""
    parts = module.split('.')
    return parts[0] == 'importlib' and (parts[1:2] or [''])[0] not in {'metadata', 'resources'}


def _called_name(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, 'id', '')


def _literal_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """String constants that look like module names, docstrings and topic types excluded."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.rstrip('.')  # the head of f"rclpy.{name}"
            if re.fullmatch(r'\w+(\.\w+)*', text):
                yield node.lineno, text


def imported_modules(source: str, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and absolute name of every module that a source imports.

    A source with dynamic imports counts every string in it that is a module name as imported,
    so that a name cannot hide in a variable.
    """
    tree = ast.parse(source)
    dynamic = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
            dynamic |= any(_imports_by_name(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, name) for name in _absolute(node, package))
            dynamic |= any(_imports_by_name(name) for name in _absolute(node, package)[1:])
        elif isinstance(node, ast.Call):
            dynamic |= _called_name(node) in IMPORTERS
    if dynamic:
        yield from _literal_names(tree)


def read_imports(root: Path) -> list[Import]:
    """All imports of all packages in a workspace.

    Parameters
    ----------
    root : Path
        Folder that contains the ROS packages.

    Returns
    -------
    list of Import
        In the order of packages, files and lines; build scripts are left out.
    """
    found = []
    for package in LAYERS:
        for path in sorted((root / package).rglob('*.py')):
            relative = path.relative_to(root / package)
            if relative.parts[0] in {'setup.py', 'build', 'install'}:
                continue
            parents = relative.parent.parts
            found.extend(
                Import(package, Path(package) / relative, line, module)
                for line, module in imported_modules(path.read_text('utf-8'), parents)
            )
    return found


def ros_violations(imports: list[Import]) -> list[str]:
    """Imports of ROS, or of a package's `nodes`, from outside `nodes/` and launch files.

    The command line of `pkm_bringup` puts nodes together and may import its own `nodes`.
    """
    violations = []
    for item in imports:
        if item.in_node:
            continue
        nodes = re.match(r'(pkm_\w+)\.nodes\b', item.module)
        foreign_nodes = nodes is not None and nodes[1] != 'pkm_bringup'
        if ROS_MODULE.fullmatch(item.module) or foreign_nodes:
            violations.append(str(item))
    return violations


def layer_violations(imports: list[Import]) -> list[str]:
    """Imports of a package that comes after the importing one, or beside it."""
    violations = []
    for item in imports:
        top = item.module.split('.')[0]
        if top in LAYERS and top != item.package and top not in LAYERS[item.package]:
            violations.append(str(item))
    return violations
