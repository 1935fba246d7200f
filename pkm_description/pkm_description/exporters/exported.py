"""What an exporter returns: the text, and what the format could not say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike

from pkm_description.assembly import Assembly
from pkm_description.description import Description, Pose
from pkm_description.errors import ExportError


@dataclass(frozen=True)
class Exported:
    """One exported description."""

    text: str  # the file
    # what the file does not say, or says only roughly, one sentence each: everything that makes
    # another tool's forces differ from those of the description
    losses: tuple[str, ...] = ()
    sidecar: str = ''  # the YAML that belongs beside the file; empty where none does


def refuse_losses(robot: str, form: str, losses: Iterable[str]) -> None:
    """Raise ExportError where anything is lost."""
    listed = '; '.join(losses)
    if listed:
        raise ExportError(f"robot '{robot}' cannot be written as {form} without losses: {listed}")


def poses_at_home(description: Description) -> dict[str, Pose]:
    """Return the poses of all links in the base frame at home."""
    assembly = Assembly(description)
    poses = {description.base_link: Pose()}
    found = assembly.body_poses(assembly.home())
    for name, position, rotation in zip(assembly.tree.body_names, *found, strict=True):
        poses[name] = Pose(position, rotation)
    return poses


def number(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(float(value))


def numbers(values: ArrayLike) -> str:
    """Return a blank-separated list of numbers."""
    return ' '.join(number(value) for value in np.asarray(values, dtype=float).ravel())


def add_text(parent: etree._Element, tag: str, text: str) -> None:
    """Add an element that holds a text."""
    etree.SubElement(parent, tag).text = text


def as_text(root: etree._Element, losses: Iterable[str], *heads: str) -> str:
    """Return a document as text, with its losses in comments at its head."""
    for index, line in enumerate([*heads, *(f'lost: {loss}' for loss in losses)]):
        # Two hyphens end a comment.
        root.insert(index, etree.Comment(f' {line.replace("--", "- -")} '))
    return str(etree.tostring(root, pretty_print=True, encoding='unicode'))
