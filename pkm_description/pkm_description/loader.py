"""`load`: from a library name or a path to a checked `Description`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from pkm_description import checks, sidecar
from pkm_description.actuation.redundant_drives import with_redundant_actuation
from pkm_description.description import Description
from pkm_description.description_files import SDF, read_text, read_urdf, sidecar_of, split_arguments
from pkm_description.drives import read_drive_terms
from pkm_description.errors import DescriptionError
from pkm_description.friction import check_constraint_friction, check_friction_names, with_friction
from pkm_description.home import close_at_home
from pkm_description.readers import gepetto, sdf_mechanism
from pkm_description.readers.ball_joints import without_ball_joints
from pkm_description.readers.chosen_mechanism import chosen_mechanism
from pkm_description.readers.mechanism_proposal import proposal_hint
from pkm_description.readers.urdf_reader import parse_urdf
from pkm_description.sidecar_sections import check_sections
from pkm_description.transmissions.calibration import calibrated, calibration_of, split_published
from pkm_description.transmissions.section import (
    read_side,
    read_transmissions,
    with_motor_constants,
    with_motor_limits,
)
from pkm_description.xml_elements import suggestion

_ROOT = Path(str(files('pkm_description')))
_XACRO = '.urdf.xacro'
_SUFFIXES = ('.urdf', '.xacro', SDF)
_YAML = ('.yaml', '.yml')
CALIBRATION = 'calibration'  # argument of a robot's text that no xacro file gets


_library_digests: dict[str, str] = {}  # of the robots that this process loaded by their names


def library() -> list[str]:
    """Names of the robots that come with the package."""
    root = _ROOT / 'robots'
    return sorted(p.name for p in root.iterdir() if (p / f'{p.name}{_XACRO}').is_file())


def examples() -> list[str]:
    """Names of the example mechanisms that come with the package: assumed numbers."""
    return sorted(p.name.removesuffix(_XACRO) for p in (_ROOT / 'examples').glob(f'*{_XACRO}'))


def load(
    name_or_path: str | Path,
    arguments: Mapping[str, str] | None = None,
    calibration: str | Path | None = None,
) -> Description:
    """Load a robot by library or example name, or by the path of a .urdf, .xacro or .sdf file.

    A YAML file of the same stem beside it is read too; that of `robot.sdf` is called
    `robot.sdf.yaml`. A robot of Gepetto's example-parallel-robots is loaded by its folder or its
    `robot.yaml`.

    Parameters
    ----------
    name_or_path : str or Path
        `file.urdf.xacro name:=value ...` as a text gives a xacro file its arguments.
    arguments : mapping, optional
        Further xacro arguments by name.
    calibration : str or Path, optional
        File of one machine's encoders and drives. `name calibration:=FILE` as a text names it, too.

    Raises
    ------
    DescriptionError
        Names the element that is wrong and what would be right.
    """
    text, given = split_arguments(str(name_or_path))
    calibration = given.pop(CALIBRATION, None) if calibration is None else calibration
    given = {**given, **(arguments or {})}
    path = _path_of(text)
    stem = path.name.removesuffix('.xacro').removesuffix('.urdf')
    beside = sidecar_of(path, sidecar.KEYS)
    urdf = read_urdf(path, given)
    yaml_text = read_text(beside) if beside.is_file() else ''
    content = sidecar.read_mapping(yaml_text, str(beside))
    if path.suffix == SDF:
        urdf, yaml_text = sdf_mechanism.converted(urdf, content, str(path))
    elif gepetto.is_gepetto(content):
        urdf, yaml_text = gepetto.converted(urdf, content, str(beside))
    description = _build(urdf, yaml_text, str(path), str(beside), path)
    if text == stem and text in library() and not given:
        _library_digests[text] = description.digest
    return calibrated(description, calibration) if calibration else description


def is_of_library(description: Description) -> bool:
    """Whether a description is that of the library robot of its name, to the last sign."""
    name = description.name
    if name not in _library_digests and name in library():
        load(name)
    return _library_digests.get(name) == description.digest


def _path_of(text: str) -> Path:
    """URDF or xacro file of a library or example name, a path, a folder or a YAML file."""
    if text in library():
        return _ROOT / 'robots' / text / f'{text}{_XACRO}'
    if text in examples():
        return _ROOT / 'examples' / f'{text}{_XACRO}'
    path = Path(text)
    if path.is_dir():
        path = path / 'robot.yaml'
        if not path.is_file():
            raise DescriptionError(
                f"the folder '{text}' has no robot.yaml; name the .urdf or .xacro file"
            )
    if path.suffix in _YAML and path.is_file():
        found = [path.with_suffix(end) for end in ('.urdf', '.urdf.xacro', '.xacro')]
        present = [item for item in found if item.is_file()]
        if not present:
            raise DescriptionError(f"'{path}' has no '{found[0].name}' beside it")
        return present[0]
    if path.suffix not in _SUFFIXES:
        raise DescriptionError(
            f"'{text}' is neither a library robot ({', '.join(library())}), an example "
            f'({", ".join(examples())}) nor the path of a .urdf, .xacro or .sdf file'
            f'{suggestion(text, [*library(), *examples()])}'
        )
    if not path.is_file():
        raise DescriptionError(f"there is no file '{text}'")
    return path


def loads_sdf(text: str, where: str = 'SDF') -> Description:
    """Load a robot from the text of an SDF file without a YAML beside it.

    Raises DescriptionError.
    """
    return loads(*sdf_mechanism.converted(text, {}, where), where)


def loads(urdf: str, yaml_text: str = '', where: str = 'URDF') -> Description:
    """Load a robot from an expanded URDF and its sidecar as texts, as a graph publishes them."""
    return _build(urdf, yaml_text, where, f'{where} sidecar', None)


def _build(urdf: str, yaml_text: str, where: str, beside: str, path: Path | None) -> Description:
    yaml_text, machine = split_published(yaml_text)
    urdf = without_ball_joints(urdf, where)
    extra = sidecar.parse_yaml(yaml_text, beside)
    content = chosen_mechanism(parse_urdf(urdf, where), extra)
    actuated = {actuator.joint for actuator in content.actuators}
    free = sidecar.free_joints_of(extra, content.joints, actuated)
    driven = [actuator.joint for actuator in content.actuators]
    gears = read_transmissions(extra, content.joints, driven, content.reductions)
    joints = with_motor_limits(with_friction(content.joints, extra, actuated), gears)
    actuators = with_motor_constants(content.actuators, gears)
    children = {joint.child for joint in content.joints}
    roots = [link.name for link in content.links if link.name not in children]
    home, home_given, guess = sidecar.home_of(extra)
    guess = {name: value for name, value in guess.items() if name not in content.fixed}
    scalar = {joint.name for joint in content.joints if joint.is_scalar}
    check_friction_names(extra, scalar | {item.name for item in content.constraints})
    velocity = sidecar.number(extra.get('transition_velocity', 0.002), 'transition_velocity')
    if velocity <= 0:
        raise DescriptionError('transition_velocity must be positive')
    description = Description(
        name=content.name,
        links=content.links,
        joints=sidecar.without_effort(joints, free),
        constraints=with_friction(content.constraints, extra, set()),
        actuators=sidecar.with_actuators(actuators, extra, free),
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
        warnings=content.warnings,
        platform=content.platform,
        transmissions=gears,
        side=read_side(extra, gears),
    )
    description = read_drive_terms(description)
    hint = proposal_hint(content, beside)
    checks.check_names(description, hint)
    checks.check_base(description, roots, where)
    checks.check_floating(description)
    checks.check_inertias(description)
    checks.check_limits(description, hint)
    checks.check_constraints(description)
    for constraint in description.constraints:
        check_constraint_friction(constraint)
    description = with_redundant_actuation(description)
    description = replace(description, same_design=sidecar.designs_of(extra, description))
    description = close_at_home(description, home_given, guess)
    check_sections(description)
    if machine is None:
        return description
    return replace(description, calibration=calibration_of(machine, description, beside))


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DescriptionError(
            f'zero_parameters must be a list of names or patterns, not {value!r}'
        )
    return tuple(value)
