"""`pkm export`: a description in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import ROBOT
from pkm_bringup.views.console import print_note

FORMATS = {
    'mjcf': 'MuJoCo, loops as equality constraints',
    'sdf': 'a world with joints for all loops, or what Gazebo Harmonic simulates',
    'urdf': 'a tree for other tools; its constraints and the YAML beside it are kept',
}
FORMS = {
    'closed': 'all constraints (mjcf, urdf; the default there)',
    'graph': 'every loop a joint (sdf; the default there)',
    'gazebo': 'a tree that Gazebo Harmonic welds together at the start (sdf)',
    'tree': 'without the constraints, loops open (urdf)',
}


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'write a robot in the format of another tool'
    parser = subparsers.add_parser('export', help=text, description=text)
    parser.add_argument('robot', metavar='ROBOT', help=ROBOT)
    formats = '; '.join(f'{name}: {meaning}' for name, meaning in FORMATS.items())
    parser.add_argument('--to', required=True, choices=sorted(FORMATS), help=formats)
    forms = '; '.join(f'{name}: {meaning}' for name, meaning in FORMS.items())
    parser.add_argument('--form', choices=sorted(FORMS), help=f'form of the format; {forms}')
    text = 'refuse to write what the format cannot say fully; without it that is named'
    parser.add_argument('--strict', action='store_true', help=text)
    parser.add_argument(
        '--output',
        required=True,
        metavar='FILE',
        help='file to write; must not exist (SI units; a URDF must end in .urdf, its YAML is '
        'written beside it)',
    )
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Write one file, and the YAML beside a URDF."""
    import pkm_description
    from pkm_bringup.outputs import OutputError, check_output
    from pkm_dynamics.atomic_write import write_text_atomically

    output = check_output(arguments.output, ('.urdf',) if arguments.to == 'urdf' else ())
    description = pkm_description.load(arguments.robot)
    form = (arguments.to, arguments.form, arguments.strict)
    exported = pkm_description.build_export(description, *form)
    files: dict[Path, str] = {output: exported.text}
    if exported.sidecar:
        files[check_output(output.with_suffix('.yaml'))] = exported.sidecar
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
    return 0
