"""Exporters: one description, the file formats of other tools."""

from __future__ import annotations

from collections.abc import Callable

from pkm_description.description import Description
from pkm_description.errors import ExportError
from pkm_description.exporters.mjcf import export_mjcf
from pkm_description.exporters.urdf_tree import export_urdf_tree

FORMATS: dict[str, Callable[[Description], str]] = {
    'mjcf': export_mjcf,
    'urdf': export_urdf_tree,
}


def export(description: Description, format: str) -> str:
    """Write a description in the format of another tool.

    Parameters
    ----------
    description : Description
        The robot.
    format : str
        ``'mjcf'`` (MuJoCo, closed loops as equality constraints) or ``'urdf'``
        (the plain tree, without the closing constraints).

    Returns
    -------
    str
        The text of the file.

    Raises
    ------
    ExportError
        If the format is unknown or cannot hold what the description says.
    """
    try:
        exporter = FORMATS[format]
    except KeyError:
        valid = ', '.join(sorted(FORMATS))
        raise ExportError(f"unknown export format '{format}'; valid formats are {valid}") from None
    return exporter(description)


__all__ = ['FORMATS', 'export', 'export_mjcf', 'export_urdf_tree']
