"""What an exporter returns: the text, and what the format could not say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike

from pkm_description.actuation.hydraulic_drives import hydraulic_losses
from pkm_description.assembly import Assembly
from pkm_description.description import Constraint, Description, DriveTerms, Friction, Pose
from pkm_description.errors import ExportError
from pkm_description.friction import load_factors


@dataclass(frozen=True)
class Exported:
    """One exported description."""

    text: str  # the file
    # what the file does not say, or says only roughly, one sentence each: everything that makes
    # another tool's forces differ from those of the description
    losses: tuple[str, ...] = ()
    sidecar: str = ''  # the YAML that belongs beside the file; empty where none does
    bridge: str = ''  # configuration of ros_gz_bridge for the topics of the file; likewise


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
    _insert_comments(root, [*heads, *(f'lost: {loss}' for loss in losses)])
    return str(etree.tostring(root, pretty_print=True, encoding='unicode'))


def with_remarks(exported: Exported, remarks: Iterable[str]) -> Exported:
    """Return an export with lines of comments at the head of its file and its sidecar."""
    lines = [line for remark in remarks for line in remark.splitlines()]
    if not lines:
        return exported
    root = etree.fromstring(exported.text.encode())
    _insert_comments(root, lines)
    for comment in root[: len(lines)]:
        comment.tail = '\n  '  # what is indented already is not indented again
    text = str(etree.tostring(root, pretty_print=True, encoding='unicode'))
    head = ''.join(f'# {line}\n' for line in lines) if exported.sidecar else ''
    return replace(exported, text=text, sidecar=head + exported.sidecar)


def _insert_comments(root: etree._Element, lines: Iterable[str]) -> None:
    for index, line in enumerate(lines):
        # Two hyphens end a comment.
        root.insert(index, etree.Comment(f' {line.replace("--", "- -")} '))


def symmetric(friction: Friction | None) -> tuple[float, float]:
    """Return Coulomb [N, N m] and viscous friction [N s/m, N m s/rad] of a joint.

    Of an asymmetric friction the mean of both directions is taken.
    """
    if friction is None:
        return 0.0, 0.0
    return 0.5 * sum(friction.levels), friction.damping


def asymmetry_losses(description: Description) -> list[str]:
    """Say of which joints and motors the friction differs between the directions."""
    items: list[tuple[str, Friction | None]] = []
    items += [(f"joint '{joint.name}'", joint.friction) for joint in description.joints]
    items += [(f"joint '{each.name}'", each.friction) for each in description.constraints]
    for each in description.transmissions:
        items += [(f"motor '{motor.name}'", motor.friction) for motor in each.motors]
    return [
        f'{name}: Coulomb friction {forwards:g} forwards and {backwards:g} backwards is written as '
        'its mean'
        for name, friction in items
        if friction is not None
        for forwards, backwards in [friction.levels]
        if forwards != backwards
    ]


def load_losses(description: Description, form: str) -> list[str]:
    """Say of which joints the friction grows with their load, which no format has."""
    return [
        f"joint '{name}': friction that grows with its load by {factor:g} is no part of {form}"
        for name, factor in load_factors(description).items()
        if factor
    ]


def spring(terms: DriveTerms | None) -> tuple[float, float]:
    """Return stiffness [N/m, N m/rad] and position without force [m, rad] of a drive's spring.

    The offset is part of it; (0, 0) where there is no spring that pulls back.
    """
    if terms is None or terms.stiffness is None or terms.stiffness <= 0.0:
        return 0.0, 0.0
    return terms.stiffness, terms.rest - (terms.offset or 0.0) / terms.stiffness


def drive_losses(description: Description, form: str) -> list[str]:
    """Say what of the drives, beside springs, is no part of a format."""
    found = hydraulic_losses(description, form)
    for joint, terms in description.drive_terms.items():
        lost = []
        stiffness = terms.stiffness or 0.0
        if stiffness < 0.0:
            lost.append(f'a stiffness of {stiffness:g}')
        if terms.offset and stiffness <= 0.0:
            lost.append(f'an offset of {terms.offset:g}')
        if terms.ripple is not None and any([*terms.ripple.cosine, *terms.ripple.sine]):
            lost.append(f'force ripple of period {terms.ripple.period:g}')
        if terms.presliding is not None:
            lost.append(f'presliding of {terms.presliding:g}')
        if terms.warm_up is not None:
            lost.append('viscous friction that warms up')
        if lost:
            verb = 'are' if len(lost) > 1 else 'is'
            found.append(f"joint '{joint}': {' and '.join(lost)} {verb} no part of {form}")
    return found


def cut_loss(constraint: Constraint, coulomb: bool, viscous: bool) -> str | None:
    """Say what is lost of a constraint's friction; None where nothing is.

    `coulomb` and `viscous` tell what the format holds.
    """
    dry, wet = symmetric(constraint.friction)
    lost = [f'Coulomb friction {dry:g}'] if dry and not coulomb else []
    lost += [f'viscous friction {wet:g}'] if wet and not viscous else []
    if not lost:
        return None
    return f"{constraint.type} constraint '{constraint.name}': {' and '.join(lost)} is left out"
