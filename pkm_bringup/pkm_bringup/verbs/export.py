"""`pkm export`: a description, or an identified model, in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import ROBOT
from pkm_bringup.views.console import print_note

FORMATS = {
    'cpp': 'a folder with C++17 for real-time loops: kinematics, forces, regressor',
    'mjcf': 'MuJoCo, loops as equality constraints',
    'payload': 'YAML with the payloads of an identified model as UR, Franka and KUKA take them',
    'sdf': 'a world with joints for all loops, or what Gazebo Harmonic simulates',
    'urdf': 'a tree for other tools; its constraints and the YAML beside it are kept',
}
FORMS = {
    'closed': 'all constraints (mjcf, urdf; the default there)',
    'graph': 'every loop a joint, which Gazebo drops (sdf; the default there)',
    'inverse_dynamics_solver': 'a ROS 2 package with a plugin of inverse_dynamics_solver (cpp)',
    'ros2_control': 'a ROS 2 package with a chainable controller (cpp)',
    'gazebo': 'a tree that Gazebo Harmonic welds together at the start (sdf)',
    'tree': 'without the constraints, loops open (urdf)',
}


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'write a robot, or its identified model, in the format of another tool'
    parser = subparsers.add_parser('export', help=text, description=text)
    parser.add_argument('robot', metavar='ROBOT', help=ROBOT)
    text = 'model file of `pkm identify`, whose bodies, friction, rotors and drives are written, '
    text += 'with uncertainties in comments; default: none, the numbers of the description'
    parser.add_argument('--model', metavar='MODEL', help=text)
    formats = '; '.join(f'{name}: {meaning}' for name, meaning in FORMATS.items())
    parser.add_argument('--to', required=True, choices=sorted(FORMATS), help=formats)
    forms = '; '.join(f'{name}: {meaning}' for name, meaning in FORMS.items())
    parser.add_argument('--form', choices=sorted(FORMS), help=f'form of the format; {forms}')
    text = (
        'file of what repetitions of a motion have taught with that model, written as tables (cpp)'
    )
    parser.add_argument('--learned', metavar='FILE', help=f'{text}; default: none')
    text = 'refuse to write what the format cannot say fully; without it that is named'
    parser.add_argument('--strict', action='store_true', help=text)
    text = (
        'file to write, a folder for cpp; must not exist (SI units; a URDF must end in .urdf, its '
    )
    parser.add_argument('--output', required=True, metavar='FILE', help=f'{text}YAML is beside it)')
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Write one file, and the YAML beside a URDF or a world of Gazebo; of C++ a folder."""
    import pkm_description
    from pkm_bringup.outputs import OutputError, check_output
    from pkm_description.errors import ExportError
    from pkm_dynamics.atomic_write import write_text_atomically

    if arguments.to == 'cpp':
        return _write_cpp(arguments)
    if arguments.learned is not None:
        raise ExportError(f'{arguments.to} has no place for what was learned: only cpp has')
    output = check_output(arguments.output, ('.urdf',) if arguments.to == 'urdf' else ())
    description = pkm_description.load(arguments.robot)
    form = (arguments.to, arguments.form, arguments.strict)
    notes: tuple[str, ...] = ()
    if arguments.model is None and arguments.to != 'payload':
        exported = pkm_description.build_export(description, *form)
    else:
        from pkm_bringup.exports.model_export import export_model

        exported, notes = export_model(description, arguments.model, *form)
    files: dict[Path, str] = {output: exported.text}
    if exported.sidecar:
        files[check_output(output.with_suffix('.yaml'))] = exported.sidecar
    if exported.bridge:
        files[check_output(output.with_suffix('.bridge.yaml'))] = exported.bridge
    done: list[Path] = []
    try:
        for path, text in files.items():
            done.append(write_text_atomically(path, text, OutputError))
    except BaseException:
        for path in done:  # half a robot is none
            path.unlink(missing_ok=True)
        raise
    for path in done:
        print_note(f"wrote '{path}'")
    for line in exported.losses:
        print_note(f'lost: {line}')
    for note in notes:
        print_note(note)
    return 0


def _write_cpp(arguments: Any) -> int:
    """Write the files of a C++ package into a new folder."""
    import pkm_description
    from pkm_bringup.exports.model_export import export_cpp
    from pkm_bringup.outputs import check_output, write_output_folder

    folder = check_output(arguments.output)
    given = arguments.model, arguments.form, arguments.strict, arguments.learned
    sources = export_cpp(pkm_description.load(arguments.robot), *given)

    def write(temporary: Path) -> None:
        for name, text in sources.files.items():
            (temporary / name).write_text(text)

    write_output_folder(folder, write)
    print_note(f"wrote '{folder}'")
    for line in sources.losses:
        print_note(f'lost: {line}')
    return 0
