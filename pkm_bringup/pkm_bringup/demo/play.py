"""Run the demo: start the robot, play the scenario, show what came out."""

from __future__ import annotations

import contextlib
import json
import os
import time
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

import pkm_description
from pkm_bringup.demo import summary
from pkm_bringup.demo.scenario import DemoOptions, DemoResult, DemoRobot, Scenario
from pkm_bringup.demo.simulated_here import SimulatedHere
from pkm_bringup.reports.document import write_report
from pkm_bringup.reports.run_files import files_of
from pkm_description import PkmError
from pkm_dynamics import ClosedChainModel

ROS_MODULES = ('rclpy', 'ament_', 'lifecycle_', 'pkm_msgs', 'std_msgs', 'sensor_msgs')
PLAIN_WIDTH = 120  # characters of a table where the output is no terminal


def run_demo(options: DemoOptions, as_json: bool = False) -> DemoResult:
    """Run the whole demo; everything is written below `options.output`."""
    output = options.output.resolve()
    if output.exists() and any(output.iterdir()):
        raise PkmError(f"the output folder '{output}' is not empty; name another with --output")
    os.environ.setdefault('MPLCONFIGDIR', str(output / 'log' / 'matplotlib'))
    os.environ.setdefault('MPLBACKEND', 'Agg')
    model = ClosedChainModel(pkm_description.load(options.robot))
    console = Console(stderr=as_json)
    if not console.is_terminal:
        console = Console(stderr=as_json, width=PLAIN_WIDTH)
    begun = time.monotonic()
    told = partial(summary.print_parameters, console)
    place = _robot(options, model)
    output.mkdir(parents=True, exist_ok=True)
    with place as robot, _StepProgress(console) as progress:
        result = Scenario(robot, model, options, progress.show, told).run()
    files = _files(output, result, model)
    report = summary.as_dict(result, model, files)
    files['summary'] = output / 'summary.json'
    files['summary'].write_text(json.dumps(report, indent=2) + '\n', encoding='utf-8')
    files['report'] = output / 'report.html'
    write_report([files_of(str(output))], files['report'], options.robot)
    summary.print_summary(console, result, files)
    console.print(f'done in {time.monotonic() - begun:.0f} s')
    if as_json:
        print(json.dumps(report))
    return result


def _robot(
    options: DemoOptions, model: ClosedChainModel
) -> contextlib.AbstractContextManager[DemoRobot]:
    if options.quick:
        return contextlib.nullcontext(SimulatedHere(model, options.world, options.seed))
    try:
        from pkm_bringup.demo.through_nodes import ThroughNodes
    except ModuleNotFoundError as error:
        if not str(error.name).startswith(ROS_MODULES):
            raise
        raise PkmError(
            f"the Python module '{error.name}' is not installed: nodes need ROS 2; with --quick "
            'the demo runs in this process, without'
        ) from error
    return ThroughNodes(options, model)


def _files(output: Path, result: DemoResult, model: ClosedChainModel) -> dict[str, Path]:
    identification = result.identification
    title = 'Circle: measured forces against those of the identified model'
    forces = summary.draw_forces(result.circle, output / 'forces.png', title)
    title = 'Circle at 1 m/s: tracking error with and without the identified model'
    tracking = summary.draw_tracking(
        result.circles, model.actuated_joints, output / 'tracking.png', title
    )
    return {
        'recording of the excitation': identification.recording,
        'recording of the circle': result.recording,
        'model': identification.model_file,
        'plot of the forces': forces,
        'plot of the tracking errors': tracking,
    }


class _StepProgress:
    """One progress bar a step; plain lines where the output is no terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._step = ''
        self._number = 0
        self._task: TaskID | None = None
        self._bar = Progress(
            TextColumn('[bold]{task.fields[number]:>2}[/]  {task.description:<40}'),
            BarColumn(),
            TextColumn('{task.percentage:>3.0f} %  {task.fields[phase]}'),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> _StepProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        self._bar.stop()

    def show(self, step: str, phase: str, fraction: float) -> None:
        """Show how far a step is."""
        if step != self._step:
            self._finish()
            self._step, self._number = step, self._number + 1
            if self._console.is_terminal:
                self._task = self._bar.add_task(step, total=1.0, number=self._number, phase=phase)
            else:
                self._console.print(f'{self._number:>2}  {step} ...', highlight=False)
        if self._task is not None:
            self._bar.update(self._task, completed=fraction, phase=phase)

    def _finish(self) -> None:
        if self._task is not None:
            self._bar.update(self._task, completed=1.0, phase='')
