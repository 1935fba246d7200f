"""`pkm guard`: hold a robot whose joint_trajectory_controller drops the effort of a goal."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import FORCES_OF, add_arguments, add_robot
from pkm_bringup.exit_status import ExitStatus
from pkm_bringup.views.console import print_error, print_note
from pkm_identification.option import TEXT, Option


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'hold a robot whose joint_trajectory_controller drops the effort of a goal'
    parser = subparsers.add_parser(
        'guard',
        help=text,
        description=f'{text}: follows its goals and answers each cancel, abort and violated '
        'tolerance by a goal that holds the robot where it is, with the forces of the model, at '
        'once. Runs until Ctrl-C; exit status 1 where nothing held the robot at the end. Only '
        'where all goals carry efforts (`pkm goal`): after others a hold would lift the robot. '
        'Trajectories that are sent by topic are not seen.',
    )
    add_robot(parser)
    add_arguments(
        parser,
        FORCES_OF,
        Option(
            'controller',
            TEXT,
            'name of the controller, with its namespace',
            'joint_trajectory_controller',
        ),
    )
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Guard until interrupted."""
    from pkm_bringup.inputs import load_model
    from pkm_bringup.nodes.guard_client import UNHELD, GuardClient
    from pkm_bringup.offline import feedforward_of

    def say(text: str, is_bad: bool) -> None:
        if is_bad:
            print_error('pkm guard', text)
        else:
            print_note(text)

    model = load_model(arguments.robot)
    feedforward = feedforward_of(model, arguments.model)
    with GuardClient(model, feedforward, arguments.controller, say, is_first=True) as client:
        client.begin()
        print_note(
            f"guards '{arguments.controller}' of {model.description.name}; Ctrl-C ends the guard, "
            'not the controller'
        )
        try:
            while True:
                client.watch()
        except KeyboardInterrupt:
            client.linger()
        print_note(f'{client.holds} holds; what bears the robot: {client.guard.state.value}')
        return int(ExitStatus.ERROR) if client.guard.state in UNHELD else 0
