"""Exporters: one description, the file formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.description import Description
from pkm_description.errors import ExportError
from pkm_description.exporters.exported import Exported, refuse_losses, with_remarks
from pkm_description.exporters.mjcf import build_mjcf
from pkm_description.exporters.sdf import build_sdf
from pkm_description.exporters.urdf import build_urdf

#: Formats and, of each, the forms, the default first.
FORMATS: Mapping[str, tuple[str, ...]] = {
    'mjcf': ('closed',),
    'sdf': ('graph', 'gazebo'),
    'urdf': ('closed', 'tree'),
}
_BUILDERS: dict[str, Callable[[Description, str], Exported]] = {
    'mjcf': lambda description, form: build_mjcf(description),
    'sdf': build_sdf,
    'urdf': build_urdf,
}


def build_export(
    description: Description,
    format: str,
    form: str | None = None,
    strict: bool = False,
    remarks: Iterable[str] = (),
) -> Exported:
    """Write a description in the format of another tool.

    Parameters
    ----------
    description : Description
        The robot.
    format : str
        ``'mjcf'`` (MuJoCo, loops as equality constraints), ``'sdf'`` (forms ``'graph'``,
        all loops as joints, and ``'gazebo'``, a tree that Gazebo Harmonic welds together)
        or ``'urdf'`` (forms ``'closed'``, which keeps the constraints that other tools
        skip, and ``'tree'``, without them).
    form : str, optional
        Form of the format; the first of `FORMATS` when absent.
    strict : bool
        Refuse to write what the format cannot say fully.
    remarks : iterable of str
        Lines for comments at the head of the file, and of the sidecar.

    Returns
    -------
    Exported
        The text, what the format could not say, and the sidecar.

    Raises
    ------
    ExportError
        If the format or the form is unknown, or the format cannot hold what the
        description says.
    RedundantActuationError
        If the robot has more drives than degrees of freedom.
    """
    if format not in FORMATS:
        raise ExportError(
            f"unknown export format '{format}'; valid formats are {', '.join(sorted(FORMATS))}"
        )
    forms = FORMATS[format]
    if form is not None and form not in forms:
        raise ExportError(f"{format} has no form '{form}'; its forms are {', '.join(forms)}")
    refuse_redundant_actuation(description, 'an export')
    exported = _BUILDERS[format](description, form or forms[0])
    if strict:
        refuse_losses(description.name, format, exported.losses)
    return with_remarks(exported, remarks)


def export(description: Description, format: str, form: str | None = None) -> str:
    """Write a description as `build_export` does and return the text alone."""
    return build_export(description, format, form).text


__all__ = ['FORMATS', 'Exported', 'build_export', 'build_mjcf', 'build_sdf', 'build_urdf', 'export']
