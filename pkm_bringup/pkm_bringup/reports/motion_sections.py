"""Sections about motions: the robot in three dimensions, the excitation, tracking, the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pkm_bringup.reports.force_sections import force_units
from pkm_bringup.reports.model_pictures import tracking_bars, tracking_key, tracking_pictures
from pkm_bringup.reports.page_blocks import (
    Block,
    Lines,
    Missing,
    Pictures,
    Player,
    Section,
    TableBlock,
)
from pkm_bringup.reports.report_run import ReadRecording, Run
from pkm_bringup.reports.still_picture import still_picture
from pkm_bringup.scene.moving import scene_at_home, scene_of_recording, scene_of_trajectory
from pkm_bringup.scene.page import player
from pkm_bringup.scene.scene import Scene
from pkm_bringup.servo_arguments import USUAL, check_followed
from pkm_bringup.trajectory_inputs import run_of
from pkm_bringup.views.console import Table
from pkm_bringup.views.data_view import look_lines, range_table
from pkm_bringup.views.excitation_view import (
    excitation_content,
    excitation_lines,
    figure_tables,
    margin_table,
)
from pkm_bringup.views.tracking_view import tracking_table
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel

FRAMES, PERIODS = 600, 2  # of the player
RECORDING = ('recording', 'samples', 'duration [s]', 'rate [Hz]', 'period [s]', 'use')
RAMP = 1.0  # [s] of a motion whose recording does not tell it


def robot_section(run: Run) -> Section | None:
    """The robot along what was recorded, else along the excitation, else at home."""
    if run.model is None:
        return None
    try:
        scene = _scene(run, run.model)
    except PkmError as error:
        return Section('robot', 'The robot', (Missing(f'The robot cannot be shown: {error}.'),))
    caption = (
        f'{scene.title}. Arrows are the forces of the drives on what they move, moments with two '
        'heads.'
    )
    return Section('robot', 'The robot', (Player(player(scene), still_picture(scene), caption),))


def _scene(run: Run, model: ClosedChainModel) -> Scene:
    predicted = [each.recording for each in (*run.predictions, *run.fits)]
    for each in (*predicted, *run.recordings):
        data = each.data
        if data is not None and not data.is_long and (own := data.for_model(model)).has_efforts:
            shown = own if own.period is None else own.between(0.0, PERIODS * own.period)
            scene = scene_of_recording(model, shown, FRAMES)
            return replace(scene, title=f'{model.description.name}: {each.name}')
    forces = None if run.result is None else run.result.predict
    motion = run.excitation
    if motion is None:
        return scene_at_home(model, forces)
    title = f'{model.description.name} along the excitation'
    return scene_of_trajectory(model, motion.ordered(model.actuated_joints), title, forces, FRAMES)


def excitation_of(run: Run) -> dict[str, Any] | None:
    """Return what the excitation is worth and leaves of the limits; None where it is unknown."""
    if run.model is None or run.excitation is None:
        return None
    trajectory = run.excitation.ordered(run.model.actuated_joints)
    told = [] if run.result is None else list(run.result.provenance.recording)
    given = [each.get('ramp_time') for each in told]
    ramp = run.design.ramp_time if run.design is not None else next(filter(None, given), RAMP)
    report = check_followed(run_of(trajectory, float(ramp)), run.model, USUAL)
    return excitation_content(run.model, trajectory, run.design, report, ramp_time=float(ramp))


def excitation_section(run: Run, content: dict[str, Any] | None, refusal: str = '') -> Section:
    """Margins to the limits and information of the excitation, or why there are none."""
    key, heading = 'excitation', 'The excitation'
    if refusal:
        what = f'The motion that the robot was excited by is not one of this robot: {refusal}.'
        return Section(key, heading, (Missing(what),))
    if content is None:
        command = f'pkm excite design --robot {run.robot_argument} --output excitation.yaml'
        what = 'No file of this run tells the motion that the robot was excited by.'
        return Section(key, heading, (Missing(what, command),))
    kept = 'all limits are kept' if content['feasible'] else 'limits are broken'
    tables = figure_tables(content)
    blocks: list[Block] = [
        Lines(tuple(excitation_lines(content))),
        TableBlock(
            margin_table(content['margins']),
            f'What the motion leaves of each limit, where it is least, the tightest first; {kept}.',
        ),
    ]
    if tables:
        caption = 'Information on the parameters as described; F is the information matrix.'
        blocks.append(TableBlock(tables[0], caption))
        words = ('Expected standard deviations', 'Combinations that are seen least and best')
        for table, text in zip(tables[1:], words, strict=True):
            blocks.append(TableBlock(table, text, folded=True))
    return Section(key, heading, tuple(blocks))


def tracking_section(run: Run) -> Section:
    """Errors of the servo along one motion, before and after the model."""
    key, heading = 'tracking', 'Tracking before and after'
    groups = run.tracked
    if not groups or run.model is None:
        what = (
            'No motion was recorded both without and with a model in the controller: run one, '
            'apply the model, run it again.'
        )
        command = f'pkm excite run MOTION.yaml --robot {run.robot_argument} --bag without_model'
        return Section(key, heading, (Missing(what, '' if run.is_redundant else command),))
    units = {name: {'N': 'm'}.get(u, 'rad') for name, u in force_units(run.model).items()}
    blocks: list[Block] = []
    for runs in groups:
        unit = ', m'.join(sorted(set(units.values())))
        blocks += [
            Pictures((tracking_bars(runs, unit),), 'Position errors at full speed.', is_wide=True),
            TableBlock(
                tracking_table(runs, unit),
                'Errors of all joints and by joint. Gains of the servo are by those of the first '
                'run, as its forces follow the errors; times smaller than without a feedforward '
                'at the same gains.',
            ),
            Pictures((tracking_key(runs),), 'Desired minus measured positions.', is_wide=True),
            Pictures(tracking_pictures(runs, units), ''),
        ]
    return Section(key, heading, tuple(blocks))


def data_section(run: Run) -> Section:
    """Samples, rate, ranges and defects of each recording."""
    key, heading = 'data', 'The recordings'
    if not run.recordings:
        what = 'This run holds no recording.'
        command = f'pkm simulate {run.robot_argument} --trajectory shipped --output run.npz'
        return Section(key, heading, (Missing(what, command),))
    rows = [_row(each, run) for each in run.recordings]
    blocks: list[Block] = [TableBlock(Table(RECORDING, rows))]
    lines = [
        f'{each.name}: {line}' for each in run.recordings for line in look_lines(each.look)[1:]
    ]
    blocks += [Lines(tuple(lines))] if lines else []
    for each in run.recordings:
        if each.of_model or run.result is None:
            blocks.append(TableBlock(range_table(each.look), f'Ranges of {each.name}', folded=True))
    return Section(key, heading, tuple(blocks))


def _row(recording: ReadRecording, run: Run) -> list[Any]:
    look, use = recording.look.to_dict(), 'not used'
    if run.result is None:
        use = 'can be identified from'
    if recording.look.refusal is not None:
        use = f'cannot be used: {recording.look.refusal}'
    elif recording.of_model:
        use = 'the model is from it'
    elif any(each.recording is recording for each in run.predictions):
        use = 'its forces are predicted'
    interval = look['interval']
    rate = None if not interval else 1.0 / interval
    return [recording.name, look['samples'], look['duration'], rate, look['period'], use]
