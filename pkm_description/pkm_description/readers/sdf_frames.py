"""Frames of an SDF model: where links, joints and explicit frames are at the file's pose.

Names, defaults and scopes are those of the SDF specification (sdformat.org, "Pose Frame
Semantics"), from 1.5 on; older files put axes of joints into the frame of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from lxml import etree
from transforms3d.quaternions import quat2mat

from pkm_description.description import Array, Pose, frozen
from pkm_description.errors import DescriptionError
from pkm_description.rotation_formats import rotation_from_rpy
from pkm_description.xml_elements import label, name_of, only, suggestion

WORLD, MODEL, SEPARATOR = 'world', '__model__', '::'
FRAMES = ('link', 'joint', 'frame', 'model')  # elements that have a frame of their name


@dataclass(frozen=True)
class _Entry:
    """An element with a frame, and the prefix of the model that it is in."""

    element: etree._Element
    scope: str


class SdfFrames:
    """Frames of a model and of the models in it, in the frame of the model.

    Names of what is in a nested model have its name and two colons before them.
    """

    def __init__(self, model: etree._Element) -> None:
        self.model = model
        self.entries: dict[str, _Entry] = {}
        self._poses: dict[str, Pose] = {'': Pose()}
        self._open: list[str] = []
        self._collect(model, '')

    def _collect(self, model: etree._Element, scope: str) -> None:
        for element in model:
            if element.tag in FRAMES:
                name = scope + name_of(element)
                if name in self.entries:
                    raise DescriptionError(f"the model has two frames of the name '{name}'")
                self.entries[name] = _Entry(element, scope)
                if element.tag == 'model':
                    self._collect(element, name + SEPARATOR)

    def elements(self, tag: str) -> Iterator[tuple[str, etree._Element, str]]:
        """Yield name, element and scope of all elements of a tag, in the order of the file."""
        for name, entry in self.entries.items():
            if entry.element.tag == tag:
                yield name, entry.element, entry.scope

    def link_of(self, name: str, scope: str, where: str) -> str:
        """Link that carries a frame; `world` stays what it is.

        Raises DescriptionError where there is no such frame, or it is attached to itself.
        """
        full = self._found(name, scope, where)
        seen = [full]
        while full != WORLD:
            entry = self.entries.get(full)
            element = self.model if entry is None else entry.element
            if element.tag == 'link':
                return full
            inside = scope if entry is None else entry.scope
            if element.tag == 'joint':
                reference = text_of(element, 'child')
            elif element.tag == 'frame':
                reference = element.get('attached_to') or MODEL
            else:
                inside = f'{full}{SEPARATOR}' if full else ''
                reference = element.get('canonical_link') or self._first_link(inside, where)
            full = self._found(reference, inside, where)
            if full in seen:
                raise DescriptionError(f"{where}: the frame '{full}' is attached to itself")
            seen.append(full)
        return full

    def _first_link(self, scope: str, where: str) -> str:
        for name, _, _ in self.elements('link'):
            if name.startswith(scope):
                return name[len(scope) :]
        raise DescriptionError(f'{where}: a model without a link has no canonical one')

    def pose(self, full: str) -> Pose:
        """Pose of a frame by its whole name, in the frame of the model; '' is the model.

        Raises DescriptionError where frames are relative to each other in a circle.
        """
        if full in self._poses:
            return self._poses[full]
        if full in self._open:
            raise DescriptionError(f"the pose of '{full}' is relative to itself")
        self._open.append(full)
        element, scope = self.entries[full].element, self.entries[full].scope
        found = self._relative(element, scope, self._reference(element))
        placement = element.get('placement_frame') if element.tag == 'model' else None
        if placement:
            inner = SdfFrames(element)
            found = found @ inner.pose(inner._found(placement, '', label(element))).inverse()
        self._open.pop()
        self._poses[full] = found
        return found

    def _reference(self, element: etree._Element) -> str:
        """Frame that the pose of an element is relative to where it does not say."""
        if element.tag == 'joint':
            return text_of(element, 'child')
        return element.get('attached_to') or MODEL

    def _relative(self, element: etree._Element, scope: str, default: str) -> Pose:
        raw, reference = read_pose(only(element, 'pose'))
        full = self._found(reference or default, scope, label(element))
        if full == WORLD:
            raise DescriptionError(f"{label(element)}: its pose cannot be relative to 'world'")
        return self.pose(full) @ raw

    def inner(self, element: etree._Element, link: str, scope: str) -> Pose:
        """Pose of an element of a link, as a visual, in the frame of the link."""
        raw, reference = read_pose(only(element, 'pose'))
        if reference is None:
            return raw
        outer = self.pose(self._found(reference, scope, label(element)))
        return self.pose(link).inverse() @ outer @ raw

    def rotation(self, name: str, scope: str, where: str) -> Array:
        """Rotation (3, 3) of a frame in that of the model."""
        full = self._found(name, scope, where)
        return np.eye(3) if full == WORLD else self.pose(full).rotation

    def _found(self, name: str, scope: str, where: str) -> str:
        """Whole name of a frame that is named in a scope."""
        if name == WORLD:
            return WORLD
        if name == MODEL:
            return scope.removesuffix(SEPARATOR)
        full = scope + name.removesuffix(f'{SEPARATOR}{MODEL}')
        if full not in self.entries:
            known = [each[len(scope) :] for each in self.entries if each.startswith(scope)]
            raise DescriptionError(
                f"{where} names the frame '{name}', which does not exist{suggestion(name, known)}"
            )
        return full


def read_pose(element: etree._Element | None) -> tuple[Pose, str | None]:
    """Pose of a `<pose>` and the name of the frame that it is relative to, None: not said."""
    if element is None:
        return Pose(), None
    if element.get('frame'):
        raise DescriptionError(
            f"{label(element)} has the attribute 'frame' of SDF before 1.7; SDF of today says "
            "'relative_to'"
        )
    form = element.get('rotation_format', 'euler_rpy')
    text = (element.text or '').split()
    count = {'euler_rpy': 6, 'quat_xyzw': 7}.get(form)
    if count is None:
        raise DescriptionError(f"{label(element)} has the unknown rotation_format '{form}'")
    values = finite_numbers(element, count) if text else np.zeros(count)
    if form == 'euler_rpy':
        unit = np.pi / 180.0 if element.get('degrees') in ('true', '1') else 1.0
        turn = rotation_from_rpy(unit * values[3:])
    elif np.linalg.norm(values[3:]) < 1e-9:
        raise DescriptionError(f'{label(element)} has a quaternion of length zero')
    else:
        turn = quat2mat([values[6], *values[3:6]])
    return Pose(frozen(values[:3]), frozen(turn)), element.get('relative_to') or None


def finite_numbers(element: etree._Element, count: int) -> Array:
    """Numbers (count,) that are the text of an element; raises DescriptionError."""
    try:
        values = np.array([float(part) for part in (element.text or '').split()])
    except ValueError:
        values = np.array([])
    if values.shape != (count,) or not np.isfinite(values).all():
        many = 'one finite number' if count == 1 else f'{count} finite numbers'
        raise DescriptionError(f"{label(element)}: '{element.text or ''}' must be {many}")
    return values


def text_of(element: etree._Element, tag: str) -> str:
    """Text of a child that must be there; raises DescriptionError."""
    child = only(element, tag)
    text = '' if child is None else (child.text or '').strip()
    if not text:
        raise DescriptionError(f'{label(element)} lacks <{tag}>')
    return text
