"""The robots and examples of the library with their numbers."""

from __future__ import annotations

from typing import Any

from pkm_bringup.kept import kept, sources_digest


def robot_list() -> list[dict[str, Any]]:
    """Return name, title, counts and path of each robot and example of the library.

    Expanding and checking every description takes two seconds, so the list is kept until a file
    of `pkm_description` changes.
    """
    return list(kept('robots', sources_digest('pkm_description'), _read_library))


def _read_library() -> list[dict[str, Any]]:
    # Imported here: loads NumPy and lxml, which a kept list does without.
    import pkm_description

    names = (*pkm_description.library(), *pkm_description.examples())
    return [_row(pkm_description.load(name)) for name in names]


def _row(description: Any) -> dict[str, Any]:
    return {
        'name': description.name,
        'title': str(description.sidecar.get('title', '')),
        'actuators': len(description.driven_joints),
        'links': len(description.links),
        'constraints': len(description.constraints),
        'path': str(description.path),
    }
