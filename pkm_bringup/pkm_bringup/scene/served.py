"""A scene in a browser while it changes: a server (viser) with time, colours and layers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from pkm_bringup.scene.drawn_links import JOINTS, Part
from pkm_bringup.scene.encoded import quaternions
from pkm_bringup.scene.limit_use import closest_limit, colours_of
from pkm_bringup.scene.scene import ARROW, Scene
from pkm_description.errors import PkmError
from pkm_dynamics.array_types import Floats

OWN, CLOSEST = 'own', 'closest limit'
SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '5')
LARGEST_PORT = 65535
REFRESH = 1.0 / 30.0  # [s]
REDRAWN = 0.5  # [s] between two drawings of a growing path
HOST = '127.0.0.1'  # of this machine alone: whoever reaches the port sees the robot
FORCE, PATH, SPACE, GRID = (0, 128, 77), (64, 77, 97), (51, 140, 191), (222, 225, 230)
SPACE_OPACITY = 0.3


class ViewError(PkmError):
    """A view cannot be served."""


class SceneServer:
    """Serves a scene until it is closed; `step` is to be called again and again.

    `pose` makes a scene of actuator positions (n_a,) [m, rad], for sliders of the joints between
    `lower` and `upper`. ViewError where viser is not installed or the port is taken.
    """

    def __init__(
        self,
        scene: Scene,
        port: int,
        pose: Callable[[Floats], Scene] | None = None,
        ends: tuple[Floats, Floats] | None = None,
    ) -> None:
        try:
            import viser
        except ModuleNotFoundError:
            raise ViewError(
                'a view in the browser needs the Python module viser: `pip install -r '
                'requirements/view.txt`, or --save FILE.html, which needs nothing'
            ) from None
        if port > LARGEST_PORT:
            raise ViewError(f'there is no port {port}; the largest one is {LARGEST_PORT}')
        self._viser = viser.ViserServer(host=HOST, port=port, label=scene.title, verbose=False)
        self.port = int(self._viser.get_port())
        if port and self.port != port:
            self.close()
            raise ViewError(f'port {port} is taken; --port names another one, 0 any that is free')
        self._scene, self._pose = scene, pose
        self._shown: tuple[Any, ...] = ()
        self._drawn = 0.0  # [s] when the path of `update` was drawn last
        self._viser.scene.set_up_direction('+z')
        self._build_links()
        self._build_surroundings()
        self._build_controls()
        if pose is not None and ends is not None:
            self._build_sliders(*ends)
        self.replace(scene)

    @property
    def address(self) -> str:
        """Where a browser of this machine finds the view."""
        return f'http://{HOST}:{self.port}'

    def close(self) -> None:
        """End the server."""
        self._viser.stop()

    def __enter__(self) -> SceneServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def replace(self, scene: Scene) -> None:
        """Show another scene of the same links from its begin on."""
        self._scene, self._shown = scene, ()
        self._turns = np.roll(quaternions(scene.rotation), 1, axis=-1)  # w first
        self._now = 0.0
        for control in (self._play, self._time, self._speed):
            control.disabled = len(scene) < 2
        self._largest = _largest(scene)
        self._time.max = max(float(scene.time[-1] - scene.time[0]), 1e-3)
        self._time.value = 0.0
        self._draw_path(scene.path)
        self.say(scene.notes)
        self.step(0.0)

    def update(self, scene: Scene, path: Floats) -> None:
        """Show an instant of the same links, and the path (N, 3) [m] to it, as they come in."""
        notes = scene.notes != self._scene.notes
        self._scene, self._shown = scene, ()
        self._turns = np.roll(quaternions(scene.rotation), 1, axis=-1)
        self._now = 0.0
        self._largest = np.maximum(self._largest, _largest(scene))
        if notes:
            self.say(scene.notes)
        if time.monotonic() - self._drawn > REDRAWN:
            self._drawn = time.monotonic()
            self._draw_path(path)

    def say(self, notes: Sequence[str]) -> None:
        """Show notes beside the robot in place of those before."""
        self._notes.content = '\n'.join(f'- {note}' for note in notes)

    def add_paths(self, paths: Sequence[Floats]) -> None:
        """Draw further paths (N, 3) [m], faintly, in place of those of the call before."""
        points = [np.stack([path[:-1], path[1:]], axis=1) for path in paths if len(path) > 1]
        if points:
            width = 0.5 * self._width
            self._viser.scene.add_line_segments(
                '/other_paths', np.concatenate(points), (180, 190, 205), thickness=width
            )

    def run(self, ended: Callable[[], bool], update: Callable[[], None] = lambda: None) -> None:
        """Serve until `ended`, calling `update` before each step."""
        last = time.monotonic()
        while not ended():
            update()
            now = time.monotonic()
            self.step(now - last)
            last = now
            time.sleep(REFRESH)

    def run_until_interrupt(self, update: Callable[[], None] = lambda: None) -> None:
        """Serve until Ctrl-C, calling `update` before each step."""
        with suppress(KeyboardInterrupt):
            self.run(lambda: False, update)

    def step(self, passed: float) -> None:
        """Go on by some time [s] and show what the controls ask for."""
        self._follow_sliders()
        if self._play.value and len(self._scene) > 1:
            self._now += passed * float(self._speed.value)
            self._now %= float(self._scene.time[-1] - self._scene.time[0]) or 1.0
            self._time.value = self._now
        self._now = float(self._time.value)
        layers = tuple(box.value for box in self._layers.values())
        wanted = (self._now, self._colours.value, self._size.value, layers)
        if wanted != self._shown:
            self._shown = wanted
            with self._viser.atomic():
                self._show(layers)

    # -- what is drawn once -----------------------------------------------------------

    def _build_links(self) -> None:
        scene = self._scene
        self._links = [
            self._viser.scene.add_frame(f'/robot/{name}', show_axes=False)
            for name in scene.bodies.names
        ]
        self._parts: list[tuple[Part, Any]] = []
        for k, part in enumerate(scene.bodies.parts):
            name = f'/robot/{scene.bodies.names[part.body]}/{k}'
            mesh = part.mesh
            handle = self._viser.scene.add_mesh_simple(
                *(name, mesh.vertices.astype(np.float32), mesh.triangles.astype(np.uint32)),
                color=_bytes(part.colour),
                flat_shading=True,
                side='double',
            )
            self._parts.append((part, handle))

    def _build_surroundings(self) -> None:
        scene, size = self._scene, self._scene.bodies.size
        self._width = 0.004 * size
        corners = scene.position[..., 2]
        self._viser.scene.add_grid(
            '/grid',
            width=4.0 * size,
            height=4.0 * size,
            cell_size=size / 8.0,
            section_size=size / 2.0,
            cell_color=GRID,
            section_color=GRID,
            position=(0.0, 0.0, float(corners.min())),
        )
        self._viser.scene.add_frame('/base', axes_length=0.08 * size, axes_radius=0.003 * size)
        self._arrows: Any = None
        mesh = scene.workspace
        self._space: Any = None
        if mesh is not None and len(mesh.triangles):
            self._space = self._viser.scene.add_mesh_simple(
                *('/workspace', mesh.vertices.astype(np.float32), mesh.triangles.astype(np.uint32)),
                color=SPACE,
                opacity=SPACE_OPACITY,
                side='double',
            )
        elif mesh is not None:
            points = mesh.vertices.astype(np.float32)
            self._space = self._viser.scene.add_point_cloud(
                '/workspace', points, SPACE, point_size=0.004 * size, point_shape='circle'
            )
        middle = 0.5 * (scene.position.min(axis=(0, 1)) + scene.position.max(axis=(0, 1)))
        self._viser.initial_camera.position = tuple(middle + size * np.array([0.75, -1.4, 0.6]))
        self._viser.initial_camera.look_at = tuple(middle)

    def _build_controls(self) -> None:
        gui, scene = self._viser.gui, self._scene
        self._play = gui.add_checkbox('play', len(scene) > 1)
        self._time = gui.add_slider('time [s]', 0.0, 1.0, 1e-3, 0.0)
        self._speed = gui.add_dropdown('speed', SPEEDS, initial_value='1')
        limits = [name for name, use in scene.use.items() if np.isfinite(use).any()]
        self._colours = gui.add_dropdown('colours', [OWN, CLOSEST, *limits], initial_value=OWN)
        self._size = gui.add_slider('forces, length', 0.1, 10.0, 0.1, 1.0)
        present = {'forces': True, 'path': True, 'joints': scene.bodies.is_skeleton}
        if self._space is not None:
            present['workspace'] = True
        self._layers = {name: gui.add_checkbox(name, on) for name, on in present.items()}
        self._table = gui.add_markdown('')
        self._notes = gui.add_markdown('')
        self._sliders: list[Any] = []
        self._asked: tuple[float, ...] = ()

    def _build_sliders(self, lower: Floats, upper: Floats) -> None:
        """Add a slider for each actuated joint with its stroke, or about home where it has none."""
        scene = self._scene
        home = scene.actuators['position'][0]
        reach = [
            0.3 * scene.bodies.size if unit == 'm' else np.pi for unit in scene.units['position']
        ]
        low = np.where(np.isfinite(lower), lower, home - reach)
        high = np.where(np.isfinite(upper), upper, home + reach)
        for k, name in enumerate(scene.actuated_joints):
            unit = scene.units['position'][k]
            ends = float(low[k]), float(high[k])
            step = (ends[1] - ends[0]) / 1000.0 or 1e-3
            self._sliders.append(
                self._viser.gui.add_slider(f'{name} [{unit}]', *ends, step, float(home[k]))
            )
        self._asked = self._wanted()

    def _wanted(self) -> tuple[float, ...]:
        return tuple(float(slider.value) for slider in self._sliders)

    def _follow_sliders(self) -> None:
        asked = self._wanted()
        if self._pose is None or asked == self._asked:
            return
        self._asked = asked
        try:
            self.replace(self._pose(np.array(asked)))
        except PkmError as error:
            self.say([str(error)])

    # -- what changes -----------------------------------------------------------------

    def _draw_path(self, path: Floats) -> None:
        points = np.stack([path[:-1], path[1:]], axis=1)
        if not len(points):
            points = np.repeat(path[:1, None], 2, axis=1)
        self._path = self._viser.scene.add_line_segments(
            '/path', points, PATH, thickness=self._width
        )

    def _show(self, layers: tuple[bool, ...]) -> None:
        scene, shown = self._scene, dict(zip(self._layers, layers, strict=True))
        frame = int(np.argmin(np.abs(scene.time - scene.time[0] - self._now)))
        for k, link in enumerate(self._links):
            link.wxyz, link.position = self._turns[frame, k], scene.position[frame, k]
        closest = closest_limit(dict(scene.use))[frame]
        wanted = self._colours.value
        use = closest if wanted in (OWN, CLOSEST) else scene.use[wanted][frame]
        colours = colours_of(use)
        for part, handle in self._parts:
            own = wanted == OWN or part.layer == JOINTS
            handle.color = _bytes(part.colour if own else colours[part.body])
            handle.visible = part.layer != JOINTS or shown['joints']
        self._path.visible = shown['path']
        if self._space is not None:
            self._space.visible = shown['workspace']
        self._show_forces(frame, shown['forces'] and bool(scene.known[frame]))
        self._table.content = _table(scene, frame, closest)

    def _show_forces(self, frame: int, visible: bool) -> None:
        scene, arrows = self._scene, self._scene.arrows
        if not len(arrows.names):
            return
        size = scene.bodies.size
        moment = np.array(arrows.moment)
        scale = ARROW * size * float(self._size.value) / self._largest
        tail, vector = arrows.tail[frame], scale[:, None] * arrows.vector[frame]
        ends = np.stack([tail, tail + vector], axis=1)
        second = np.stack([tail, tail + 0.8 * vector], axis=1)[moment]  # heads of moments
        points = np.concatenate([ends, second]).astype(np.float32)
        if self._arrows is None:
            self._arrows = self._viser.scene.add_arrows(
                *('/forces', points, FORCE),
                shaft_radius=0.0075 * size,
                head_radius=0.02 * size,
                head_length=0.05 * size,
            )
        else:
            self._arrows.points = points
        self._arrows.visible = visible


def _largest(scene: Scene) -> Floats:
    """Return the largest force or moment, whichever each drive has (k,) [N, N m]; 1 for none."""
    moment = np.array(scene.arrows.moment, dtype=bool)
    lengths = np.linalg.norm(scene.arrows.vector, axis=-1)
    most = [lengths[:, moment == kind].max(initial=0.0) or 1.0 for kind in (False, True)]
    return np.where(moment, most[1], most[0])


def _bytes(colour: Any) -> tuple[int, int, int]:
    red, green, blue = (int(round(255.0 * float(value))) for value in colour)
    return red, green, blue


def _table(scene: Scene, frame: int, closest: Floats) -> str:
    """Values of the actuated joints at an instant, in Markdown."""
    if not scene.known[frame]:
        return '**no data here; the last known pose is shown**'
    units = (', '.join(dict.fromkeys(scene.units[key])) for key in scene.actuators)
    head = [f'{key} [{unit}]' for key, unit in zip(scene.actuators, units, strict=True)]
    rows = [' | '.join(['| joint', *head, 'limit |']), '|---' * (len(head) + 2) + '|']
    moved = dict(zip(scene.arrows.names, scene.arrows.bodies, strict=True))
    for k, name in enumerate(scene.actuated_joints):
        cells = [f'{values[frame, k] + 0.0:.3g}' for values in scene.actuators.values()]
        share = closest[moved[name]] if name in moved else np.nan
        limit = '–' if np.isnan(share) else f'{100.0 * share:.0f} %'
        rows.append(' | '.join([f'| {name}', *cells, f'{limit} |']))
    return '\n'.join(rows)
