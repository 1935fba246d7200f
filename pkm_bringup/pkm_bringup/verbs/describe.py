"""`pkm describe`: what a description says, and what can be identified of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pkm_description
from pkm_bringup.arguments import ROBOT, add_json
from pkm_bringup.kept import kept, sources_digest
from pkm_bringup.verbs.describe_parts import describe_contributions, describe_workspace
from pkm_bringup.views.console import Update, print_json, progress

FLAGS = {
    'all': 'all bodies, not one of each design that is declared',
    'sources': 'where the YAML says that its numbers come from; with --base, what the coefficients '
    'are in the geometry',
    'base': 'print the base parameters: nominal value in SI units, and which combination of '
    'standard parameters each one is',
    'no-shared': 'base parameters without sharing among links and joints of one design',
    'no-reduced': 'base parameters with those that the description declares zero or equal',
}


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'bodies, joints, loops, mobility, limits, base parameters and warnings of a robot'
    parser = subparsers.add_parser('describe', help=text, description=text)
    parser.add_argument('robot', metavar='ROBOT', help=ROBOT)
    for name, text in FLAGS.items():
        parser.add_argument(f'--{name}', action='store_true', help=text)
    text = "base parameters of one of the description's reduced_models"
    parser.add_argument('--reduced', metavar='LEVEL', help=text)
    describe_contributions.add_options(parser)
    describe_workspace.add_options(parser)
    text = 'draw the robot at home, from its shapes or its kinematics, to this .png'
    parser.add_argument('--picture', metavar='FILE', help=text)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print tables, or everything as JSON."""
    from pkm_bringup.outputs import check_output
    from pkm_bringup.views.overview_text import print_overview
    from pkm_description import load
    from pkm_description.actuation.redundant_drives import refuse_redundant_actuation

    describe_workspace.check_options(arguments)
    if arguments.picture:
        check_output(arguments.picture, ('.png',))
    samples = arguments.samples or describe_workspace.SAMPLES
    with progress(f"reading '{arguments.robot}'") as update:
        description = load(arguments.robot)
        content = _figures(description, arguments, update)
        wanted = (arguments.contributions, arguments.motion, arguments.workspace, arguments.plot)
        if any(wanted):
            refuse_redundant_actuation(description, 'a workspace or the contributions to forces')
        if any(wanted) or arguments.picture:
            from pkm_dynamics import mechanism_model

            model = mechanism_model(description)
        if arguments.contributions or arguments.motion:
            update('forces of the motion')
            content['contributions'] = describe_contributions.figures(model, arguments.motion)
        if arguments.workspace or arguments.plot:
            update('workspace')
            content['reach'] = describe_workspace.figures(model, samples)
        if arguments.plot:
            update('picture of the workspace')
            describe_workspace.write_plot(model, samples, arguments.plot)
        if arguments.picture:
            from pkm_bringup.scene.still import write_picture

            update('picture of the robot')
            write_picture(model, Path(arguments.picture))
    if arguments.json:
        print_json(content)
    else:
        if arguments.sources:
            content['shown_sources'] = content['sources']
        print_overview(content, arguments.all)
        if 'contributions' in content:
            describe_contributions.print_figures(content, arguments.all)
        if 'reach' in content:
            describe_workspace.print_figures(content['reach'])
    return 0


def _figures(
    description: pkm_description.Description, arguments: Any, update: Update
) -> dict[str, Any]:
    """Figures of a description and of its base parameters, kept from one call to the next."""
    shared = not arguments.no_shared and not arguments.reduced
    reduced = arguments.reduced or not arguments.no_reduced

    def make() -> dict[str, Any]:
        from pkm_bringup.views.overview import base_figures, overview, ranks
        from pkm_dynamics import mechanism_model

        update('base parameters; the first run compiles')
        model = mechanism_model(description)
        base = model.base_parameters(shared=shared, reduced=reduced)
        figures = base_figures(base, arguments.base)
        return {**overview(description, model), 'ranks': ranks(model), 'base_parameters': figures}

    sources = sources_digest('pkm_description', 'pkm_dynamics', 'pkm_bringup')
    key = (description.digest, str(description.path), shared, reduced, arguments.base, sources)
    return dict(kept(f'describe {description.name}', repr(key), make))
