"""Mesh files that a description names: where they are, and their triangles."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pkm_bringup.scene.meshes import Mesh, coarse
from pkm_description import Description
from pkm_description.errors import PkmError

MOST_TRIANGLES = 4000  # of a link: more only makes the page large
MOST_BYTES = 200_000_000


class MeshError(PkmError):
    """A mesh cannot be shown."""


def read_mesh(uri: str, description: Description) -> Mesh:
    """Return the mesh of a URI of a description, with few triangles, in its own units.

    Raises MeshError, which names it, where there is none, or nothing that can read it.
    """
    path = mesh_path(uri, description)
    if path is None:
        raise MeshError(f"mesh '{uri}' is not there")
    if path.stat().st_size > MOST_BYTES:
        raise MeshError(f"mesh '{uri}' has more than {MOST_BYTES / 1e6:.0f} MB")
    try:
        import trimesh
    except ModuleNotFoundError:
        raise MeshError(
            f"mesh '{uri}' needs the Python module 'trimesh' (requirements/view.txt)"
        ) from None
    try:
        found = trimesh.load(path, force='mesh', process=False)
        mesh = Mesh(np.array(found.vertices, dtype=float), np.array(found.faces, dtype=np.int64))
    except Exception as error:  # its readers fail with whatever they stumble over
        raise MeshError(f"mesh '{uri}' cannot be read: {error or type(error).__name__}") from None
    if not len(mesh.triangles) or not np.all(np.isfinite(mesh.vertices)):
        raise MeshError(f"mesh '{uri}' has no triangles")
    return coarse(mesh, MOST_TRIANGLES)


def mesh_path(uri: str, description: Description) -> Path | None:
    """Return the file of a URI: a path, `file://` or `package://`; None where there is none.

    Paths are relative to the description. Packages are looked for above it, and in
    AMENT_PREFIX_PATH and ROS_PACKAGE_PATH.
    """
    folder = Path.cwd() if description.path is None else description.path.absolute().parent
    scheme, separator, rest = uri.partition('://')
    if not separator:
        candidates = [folder / uri]
    elif scheme == 'file':
        candidates = [folder / rest]
    elif scheme in ('package', 'model'):
        package = Path(rest).parts[0] if rest else ''
        above = [parent for parent in folder.parents if parent.name == package]
        places = [parent.parent for parent in above] + [folder, *folder.parents]
        prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
        places += [Path(prefix) / 'share' for prefix in prefixes if prefix]
        ros = os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep)
        places += [Path(place) for place in ros if place]
        candidates = [place / rest for place in places]
    else:
        candidates = []
    return next((path for path in candidates if path.is_file()), None)
