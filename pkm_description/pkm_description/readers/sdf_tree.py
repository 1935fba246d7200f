"""Which joints of an SDF model are a tree, and which close its loops.

SDF makes no difference between them. The tree grows from what stands still, by joints with one
degree of freedom in the order of the file, then by universal ones, then by balls. A joint between
links that both have their place closes a loop; where only loops hold the platform, it floats.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from pkm_description.description import Inertial, Pose, frozen
from pkm_description.errors import DescriptionError, listed
from pkm_description.payload import joined
from pkm_description.readers.sdf_content import SdfJoint, SdfLink, SdfWeld
from pkm_description.readers.sdf_frames import WORLD
from pkm_description.readers.sdf_reader import SdfModel

USUAL_PLATFORM = 'platform'
FEWEST = 2  # joints that a platform which floats hangs on
SINGLE = ('revolute', 'continuous', 'prismatic', 'fixed')
PAIR = ('universal', 'revolute2')
BALL = ('ball',)
#: What a link has that says nothing, as SDF defines.
UNIT_BODY = Inertial(1.0, frozen(np.zeros(3)), frozen(np.eye(3)))


@dataclass
class SdfTree:
    """A model as a tree: what stands still, joints outwards, what floats, what closes loops."""

    model: SdfModel
    links: dict[str, SdfLink]
    base: str
    joints: list[SdfJoint] = field(default_factory=list)  # each from a placed link to a new one
    floating: str | None = None  # the platform, where only loops hold it
    closures: list[SdfJoint] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def sdf_tree(model: SdfModel, platform: str | None = None) -> SdfTree:
    """Choose the tree of a model; `platform` is the link that may float, None: by the file.

    Raises DescriptionError naming links that no joint reaches.
    """
    platform = platform or model.platform or likely_platform(model)
    links, pending = _welded(model, platform)
    base, pending, warnings = _base(model, links, pending)
    tree = SdfTree(model, links, base, warnings=warnings)
    placed = {base}
    while True:
        held = [joint for joint in pending if platform in (joint.parent, joint.child)]
        waits = platform if len(held) >= FEWEST else None  # it floats rather than hangs on a ball
        joint = (
            _outwards(pending, placed, SINGLE)
            or _outwards(pending, placed, PAIR, waits)
            or _outwards(pending, placed, BALL, waits)
        )
        if joint is not None:
            pending = [each for each in pending if each.name != joint.name]
            tree.joints.append(joint)
            placed.add(joint.child)
        elif waits in links and waits not in placed:
            tree.floating = waits
            placed.add(waits)
        else:
            break
    lost = [name for name in links if name not in placed]
    if lost:
        raise DescriptionError(
            f"no joint leads from '{base}', which stands still, to {listed(lost)}"
        )
    tree.closures = pending
    _fill(tree)
    return tree


def likely_platform(model: SdfModel) -> str | None:
    """Link `platform`, or else the one on which most universal joints and balls are, if several."""
    names = [link.name for link in model.links]
    if USUAL_PLATFORM in names:
        return USUAL_PLATFORM
    ends = [
        end
        for joint in model.joints
        if joint.type in (*BALL, *PAIR)
        for end in (joint.parent, joint.child)
    ]
    held = {joint.child for joint in model.joints if joint.parent == WORLD} | {model.canonical}
    counts = {name: ends.count(name) for name in names if name not in held}
    best = max(counts, key=lambda name: counts[name], default=None)
    return best if best is not None and counts[best] > FEWEST else None


def _outwards(
    pending: Iterable[SdfJoint], placed: set[str], types: tuple[str, ...], but: str | None = None
) -> SdfJoint | None:
    """First joint of these types from a placed link to another one, turned round if need be."""
    inwards = None
    for joint in pending:
        if joint.type not in types:
            continue
        if joint.parent in placed and joint.child not in placed and joint.child != but:
            return joint
        there = joint.child in placed and joint.parent not in placed and joint.parent != but
        if there and inwards is None:
            inwards = joint
    return None if inwards is None else _turned(inwards)


def _turned(joint: SdfJoint) -> SdfJoint:
    """Return a joint with its ends exchanged: the same motion, positions and axes in its frame.

    The frame of a turned joint stays given in the link that was its child, now its parent.
    """
    axes = tuple(replace(axis, direction=frozen(-axis.direction)) for axis in joint.axes[::-1])
    return replace(joint, parent=joint.child, child=joint.parent, axes=axes, frame_in=joint.child)


def _welded(model: SdfModel, kept: str | None) -> tuple[dict[str, SdfLink], list[SdfJoint]]:
    """Make one body of two that are welded, where one of them hangs on a single joint.

    The link `kept` stays a link. Other welds are fixed joints.
    """
    links, joints = {link.name: link for link in model.links}, list(model.joints)
    for weld in model.welds:
        own = _hanging(weld, model.welds, joints, kept)
        if own is None:
            joints.append(SdfJoint(weld.name, 'fixed', weld.parent, weld.child))
            continue
        dummy, body = own.child, weld.child if own.child == weld.parent else weld.parent
        inside = links[body].pose.inverse() @ links[dummy].pose
        whole, part = links[body].inertial or UNIT_BODY, links.pop(dummy).inertial or UNIT_BODY
        both = joined(whole, part.seen_from(inside.inverse()))
        links[body] = replace(links[body], inertial=both)
        joints[joints.index(own)] = replace(own, child=body, frame=inside @ own.frame)
    return links, joints


def _hanging(
    weld: SdfWeld, welds: list[SdfWeld], joints: list[SdfJoint], kept: str | None
) -> SdfJoint | None:
    """Joint of that end of a weld that nothing but this joint and the weld holds."""
    for dummy in (weld.parent, weld.child):
        own = [joint for joint in joints if dummy in (joint.parent, joint.child)]
        alone = not any(dummy in (w.parent, w.child) for w in welds if w is not weld)
        if len(own) == 1 and own[0].type != 'fixed' and own[0].child == dummy != kept and alone:
            return own[0]
    return None


def _base(
    model: SdfModel, links: dict[str, SdfLink], joints: list[SdfJoint]
) -> tuple[str, list[SdfJoint], list[str]]:
    """What stands still, the joints that are left, and warnings; adds the world to the links."""
    held = [joint for joint in joints if joint.parent == WORLD]
    if not held:
        base = model.canonical
        return base, joints, [f"no joint holds the model in the world: '{base}' stands still"]
    if len(held) == 1 and held[0].type == 'fixed':
        return held[0].child, [joint for joint in joints if joint is not held[0]], []
    # the world, in the frame of the model
    links[WORLD] = SdfLink(WORLD, model.pose.inverse(), None)
    return WORLD, joints, []


def _fill(tree: SdfTree) -> None:
    """Give bodies without an inertia what SDF defines, and the base none."""
    base = tree.links[tree.base]
    tree.links[tree.base] = replace(base, inertial=None)
    bare = [
        link for link in tree.links.values() if link.inertial is None and link.name != tree.base
    ]
    for link in bare:
        tree.links[link.name] = replace(link, inertial=UNIT_BODY)
    if bare:
        tree.warnings.append(
            f'no <inertial>, so 1 kg and 1 kg m^2, as SDF defines: {listed([b.name for b in bare])}'
        )


def frame_of(tree: SdfTree, joint: SdfJoint) -> Pose:
    """Pose of a joint's frame in the frame of the model."""
    return tree.links[joint.frame_in or joint.child].pose @ joint.frame
