"""A scene as JSON for the player: arrays as differences of 16-bit steps, deflated."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_bringup.scene.limit_use import AT_LIMIT, BEYOND, NO_LIMIT, STOPS
from pkm_bringup.scene.meshes import Mesh
from pkm_bringup.scene.scene import ARROW, Scene
from pkm_dynamics.array_types import Floats

STEPS = 65535  # between the least and the greatest value: a motion of 1 m in steps of 15 um
MOST_USE, USE_STEPS, NO_USE = 1.27, 200, 255  # shares of limits: steps of 0.5 %, a byte each


class Blob:
    """Arrays one after the other in bytes; each `add` returns what reads it back."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: Any) -> dict[str, Any]:
        """Add values (N, ...), to one of `STEPS` of their range; they are finite."""
        array = np.asarray(values, dtype=float)
        rows = array.reshape(len(array), -1).T
        low = float(array.min(initial=np.inf)) if array.size else 0.0
        step = float(np.ptp(array)) / STEPS if array.size else 0.0
        whole = np.round((rows - low) / (step or 1.0)).astype(np.uint16)
        change = np.diff(whole, axis=1, prepend=np.uint16(0))  # wraps around, as does their sum
        planes = np.ascontiguousarray(change, '<u2').view(np.uint8).reshape(*change.shape, 2)
        content = planes[..., 0].tobytes() + planes[..., 1].tobytes()
        return self._put(content, kind='steps', shape=array.shape, low=low, step=step)

    def add_exact(self, values: Any, kind: str) -> dict[str, Any]:
        """Add values as they are, as a type of numbers: `f8`, `u4` or `u1`."""
        array = np.asarray(values)
        content = np.ascontiguousarray(array).astype(f'<{kind}').tobytes()
        return self._put(content, kind=kind, shape=array.shape)

    def _put(self, content: bytes, **what: Any) -> dict[str, Any]:
        found = {'at': self._size, **what, 'shape': list(what['shape'])}
        self._parts.append(content)
        self._size += len(content)
        return found

    @property
    def text(self) -> str:
        """All arrays, deflated, in base64."""
        return base64.b64encode(zlib.compress(b''.join(self._parts), 9)).decode('ascii')


def encoded(scene: Scene) -> str:
    """Return a scene as JSON that may stand in a script element of a page."""
    blob, parts = Blob(), []
    meshes: list[dict[str, Any]] = []
    index: dict[tuple[bytes, bytes], int] = {}
    for part in scene.bodies.parts:
        key = (part.mesh.vertices.tobytes(), part.mesh.triangles.tobytes())
        if key not in index:
            index[key] = len(meshes)
            meshes.append(_mesh(blob, part.mesh))
        colour = [round(float(value), 3) for value in part.colour]
        parts.append([part.body, index[key], colour, part.layer])
    used = {name: np.flatnonzero(np.isfinite(use).any(axis=0)) for name, use in scene.use.items()}
    arrows, size = scene.arrows, scene.bodies.size
    content = {
        'robot': scene.robot,
        'title': scene.title,
        'notes': list(scene.notes),
        'size': size,
        'colours': {'stops': STOPS, 'beyond': BEYOND, 'none': NO_LIMIT, 'at': AT_LIMIT},
        'arrow': ARROW,
        'skeleton': scene.bodies.is_skeleton,
        'bodies': list(scene.bodies.names),
        'platform': scene.platform,
        'meshes': meshes,
        'parts': parts,
        'time': blob.add_exact(scene.time - scene.time[:1], 'f8'),
        'begin': float(scene.time[0]),
        'known': blob.add_exact(scene.known, 'u1'),
        'position': blob.add(scene.position),
        'rotation': blob.add(quaternions(scene.rotation)),
        'use': {
            name: {'bodies': used[name].tolist(), 'values': _use(blob, use[:, used[name]])}
            for name, use in scene.use.items()
            if len(used[name])
        },
        'arrows': {
            'names': list(arrows.names),
            'bodies': list(arrows.bodies),
            'moment': list(arrows.moment),
            'vector': blob.add(arrows.vector),
        },
        'joints': list(scene.actuated_joints),
        'values': {
            name: {'unit': list(scene.units[name]), 'values': blob.add(values)}
            for name, values in scene.actuators.items()
        },
        'workspace': None if scene.workspace is None else _mesh(blob, scene.workspace),
    }
    # no `</script>` may stand inside
    return json.dumps({**content, 'blob': blob.text}, allow_nan=False).replace('<', '\\u003c')


def _mesh(blob: Blob, mesh: Mesh) -> dict[str, Any]:
    vertices = blob.add(mesh.vertices)
    return {'vertices': vertices, 'triangles': blob.add_exact(mesh.triangles, 'u4')}


def _use(blob: Blob, use: Floats) -> dict[str, Any]:
    steps = np.round(np.clip(np.nan_to_num(use, nan=0.0), 0.0, MOST_USE) * USE_STEPS)
    return blob.add_exact(np.where(np.isnan(use), NO_USE, steps), 'u1')


def quaternions(rotation: Floats) -> Floats:
    """Return x, y, z, w (N, n, 4) of rotations (N, n, 3, 3), each near the one before."""
    flat = Rotation.from_matrix(rotation.reshape(-1, 3, 3)).as_quat()
    found = flat.reshape(*rotation.shape[:2], 4)
    same = np.sum(found[1:] * found[:-1], axis=-1, keepdims=True) >= 0.0
    sign = np.cumprod(np.where(same, 1.0, -1.0), axis=0)
    return np.concatenate([found[:1], sign * found[1:]])
