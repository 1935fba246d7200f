"""`load`: from a library name or a path to a checked `Description`."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from pkm_description import checks, sidecar
from pkm_description.description import Description
from pkm_description.errors import DescriptionError
from pkm_description.urdf_reader import parse_urdf, read_text

_SUFFIXES = ('.urdf', '.xacro')


def library() -> list[str]:
    """Names of the robots that come with the package."""
    root = Path(str(files('pkm_description'))) / 'robots'
    return sorted(p.name for p in root.iterdir() if (p / f'{p.name}.urdf.xacro').is_file())


def load(name_or_path: str | Path) -> Description:
    """Load a robot by library name or by the path of a .urdf or .xacro file.

    A YAML file of the same stem beside it is read too. Raises DescriptionError.
    """
    text = str(name_or_path)
    if text in library():
        root = Path(str(files('pkm_description'))) / 'robots' / text
        path = root / f'{text}.urdf.xacro'
    else:
        path = Path(text)
        if path.suffix not in _SUFFIXES:
            raise DescriptionError(
                f"'{text}' is neither a library robot ({', '.join(library())}) nor the path of "
                'a .urdf or .xacro file'
            )
        if not path.is_file():
            raise DescriptionError(f"there is no file '{text}'")
    stem = path.name.removesuffix('.xacro').removesuffix('.urdf')
    beside = path.with_name(stem + '.yaml')
    yaml_text = ''
    if beside.is_file():
        try:
            yaml_text = beside.read_text(encoding='utf-8')
        except (OSError, UnicodeDecodeError) as error:
            raise DescriptionError(f"cannot read '{beside}': {error}") from None
    return _build(read_text(path), yaml_text, str(path), str(beside), path)


def loads(urdf: str, yaml_text: str = '', where: str = 'URDF') -> Description:
    """Load a robot from an expanded URDF and its sidecar as texts, as a bag holds them."""
    return _build(urdf, yaml_text, where, f'{where} sidecar', None)


def _build(urdf: str, yaml_text: str, where: str, beside: str, path: Path | None) -> Description:
    content = parse_urdf(urdf, where)
    extra = sidecar.parse_yaml(yaml_text, beside)
    actuated = {actuator.joint for actuator in content.actuators}
    free = sidecar.free_joints_of(extra, content.joints, actuated)
    joints = sidecar.with_friction(content.joints, extra, actuated)
    children = {joint.child for joint in content.joints}
    roots = [link.name for link in content.links if link.name not in children]
    home, home_given, guess = sidecar.home_of(extra)
    scalar = {joint.name for joint in content.joints if joint.is_scalar}
    sidecar.check_friction_names(extra, scalar | {item.name for item in content.constraints})
    velocity = sidecar.number(extra.get('transition_velocity', 0.002), 'transition_velocity')
    if velocity <= 0:
        raise DescriptionError('transition_velocity must be positive')
    for key in ('workspace', 'simulation', 'benchmark_circle'):
        sidecar.mapping(extra.get(key, {}), key)
    description = Description(
        name=content.name,
        links=content.links,
        joints=sidecar.without_effort(joints, free),
        constraints=sidecar.with_friction(content.constraints, extra, set()),
        actuators=sidecar.with_actuators(content.actuators, extra, free),
        base_link=roots[0] if roots else '',
        urdf=urdf,
        yaml_text=yaml_text,
        sidecar=extra,
        gravity=sidecar.numbers(extra.get('gravity', [0.0, 0.0, -9.81]), 3, 'gravity'),
        home=home,
        home_joints={},
        zero_parameters=_patterns(extra.get('zero_parameters', [])),
        transition_velocity=velocity,
        path=path,
    )
    checks.check_names(description)
    if len(roots) != 1:
        found = ', '.join(roots) or 'none'
        raise DescriptionError(
            f"'{where}' must have exactly one link without a parent joint (the base); it has "
            f'{found}'
        )
    checks.check_floating(description)
    checks.check_inertias(description)
    checks.check_limits(description)
    description = replace(description, same_design=sidecar.designs_of(extra, description))
    return checks.close_at_home(description, home_given, guess)


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DescriptionError('zero_parameters must be a list of names or patterns')
    return tuple(value)
