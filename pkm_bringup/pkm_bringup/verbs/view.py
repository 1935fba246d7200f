"""`pkm view`: a robot, its motion, forces, limits and workspace, in a browser or one HTML file."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import COUNT, PORT, ROBOT, TRAJECTORY, add_arguments, add_json
from pkm_bringup.data_arguments import DATA, add_loading, given_loading
from pkm_bringup.views.console import Update, print_json, print_note, progress
from pkm_dynamics import ClosedChainModel
from pkm_identification.option import TEXT, Option

FRAMES = Option(
    'frames', COUNT, 'of the motion that are shown', 600, '1', '600, of short motions fewer'
)


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'show a robot, its motion, forces, limits and workspace in a browser or one HTML file'
    parser = subparsers.add_parser(
        'view',
        help=text,
        description=f'{text}. Links are drawn as the visuals of the description, those without any '
        'from the kinematics. Arrows are the forces of the drives on what they move, moments with '
        'two heads; colours say which share of a limit is used.',
    )
    parser.add_argument('robot', metavar='ROBOT', help=ROBOT)
    what = parser.add_mutually_exclusive_group()
    what.add_argument('--motion', metavar='FILE', help=f'one period of a {TRAJECTORY}')
    text = 'follow the joint states of a running graph (joint_states, or --topic) until Ctrl-C'
    what.add_argument('--live', action='store_true', help=text)
    what.add_argument('--bag', metavar='DATA', help=f'recording to show: {DATA}')
    add_arguments(
        parser,
        Option(
            'model',
            TEXT,
            'whose forces are shown at home and along --motion: nominal or a model file, SI units',
            'nominal',
            metavar='nominal|MODEL',
        ),
        FRAMES,
    )
    text = 'show where the platform can be, at the rotation of home'
    parser.add_argument('--workspace', action='store_true', help=text)
    text = 'HTML file to write, which needs neither server nor network, in place of a server'
    parser.add_argument('--save', metavar='FILE', help=f'{text}; must not exist')
    PORT.add_argument(parser)
    add_loading(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Make the scene and write it, or serve it until Ctrl-C."""
    from pkm_bringup.inputs import load_model
    from pkm_bringup.outputs import OutputError, check_output, write_output
    from pkm_bringup.scene.page import page

    if arguments.live and (arguments.save or arguments.json):
        raise OutputError(
            '--live writes nothing: record a bag, then --bag and --save make a page of it'
        )
    output = check_output(arguments.save, ('.html',)) if arguments.save else None
    with progress('view') as update:
        model = load_model(arguments.robot, update)
        scene = _scene(arguments, model, update)
        if output is not None:
            update('writing')
            text = page(scene)
            write_output(output, lambda path: path.write_text(text, encoding='utf-8'))
    if arguments.live:
        return _follow(arguments, model, scene)
    if output is None:
        return _serve(arguments, model, scene)
    if arguments.json:
        found = {'robot': scene.robot, 'frames': len(scene), 'known': int(scene.known.sum())}
        print_json({**found, 'notes': scene.notes, 'output': str(output)})
        return 0
    for note in scene.notes:
        print_note(note)
    print_note(f"wrote '{output}'")
    return 0


def _serve(arguments: Any, model: ClosedChainModel, scene: Any) -> int:
    """Serve a scene, with sliders of the joints where it has no motion."""
    from pkm_bringup.scene.moving import scene_at
    from pkm_bringup.scene.served import SceneServer

    def pose(q: Any) -> Any:
        return scene_at(model, q, bodies=scene.bodies, workspace=scene.workspace)

    still = len(scene) == 1
    ends = model.lower, model.upper
    with SceneServer(scene, arguments.port, pose if still else None, ends) as server:
        for note in scene.notes:
            print_note(note)
        print_note(f'{server.address} shows {scene.title}; Ctrl-C ends it')
        server.run_until_interrupt()
    return 0


def _follow(arguments: Any, model: ClosedChainModel, scene: Any) -> int:
    """Serve a robot as its states come, and say what is wrong with them."""
    from pkm_bringup.nodes.state_listener import STATES, StateListener
    from pkm_bringup.scene.live import LiveScenes
    from pkm_bringup.scene.served import SceneServer
    from pkm_description.errors import KinematicsError

    live = LiveScenes(model, scene)
    topic = arguments.topic or STATES
    with StateListener(topic, model) as listener, SceneServer(scene, arguments.port) as server:

        def update() -> None:
            state = listener.newest()
            if state is None:
                return
            try:
                server.update(live.of(state), live.trail)
            except KinematicsError as error:
                server.say([str(error)])

        print_note(f"{server.address} shows {scene.robot} as it is on '{topic}'; Ctrl-C ends it")
        server.run_until_interrupt(update)
    return 0


def _scene(arguments: Any, model: ClosedChainModel, update: Update) -> Any:
    from pkm_bringup.scene.moving import scene_at_home, scene_of_recording, scene_of_trajectory
    from pkm_bringup.scene.reach import reach
    from pkm_bringup.trajectory_inputs import load_trajectory
    from pkm_description.errors import DatasetError
    from pkm_identification import load, load_result

    loading = given_loading(arguments)
    if arguments.live:
        loading.pop('topic', None)
    if loading and not arguments.bag:
        raise DatasetError(f"option '{min(loading)}' is about recordings and needs --bag")
    forces = None
    if arguments.model != 'nominal':
        if arguments.bag:
            raise DatasetError('--model needs a motion; with --bag the measured forces are shown')
        result = load_result(arguments.model, model)
        forces = result.predict
    workspace = None
    if arguments.workspace:
        update('workspace')
        workspace = reach(model)
    if arguments.bag:
        update('the recording')
        recording = load(arguments.bag, truth=False, **loading).for_model(model)
        update('closing the loops')
        return scene_of_recording(model, recording, arguments.frames, workspace=workspace)
    if not arguments.motion:
        return scene_at_home(model, forces, workspace=workspace)
    trajectory = load_trajectory(arguments.motion, model)
    title = f'{model.description.name}: {arguments.motion}'
    return scene_of_trajectory(
        model, trajectory, title, forces, arguments.frames, workspace=workspace
    )
