"""Which link and joints would be platform and drives, where nobody says: for a person to paste."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pkm_description.description import Joint
from pkm_description.readers.chosen_mechanism import links_below
from pkm_description.readers.urdf_reader import UrdfContent

TOOLS = ('tool0', 'tcp', 'tool', 'ee', 'end_effector', 'effector', 'flange', 'hand', 'gripper')
FEWEST = 5  # moving joints behind a branching that make an arm; fingers have up to four


def proposal_hint(content: UrdfContent, beside: str) -> str:
    """Return the end of a message that proposes lines of the YAML; empty where nothing fits."""
    platform = content.platform
    children = {joint.child for joint in content.joints}
    roots = [link.name for link in content.links if link.name not in children]
    if len(roots) != 1:
        return ''
    by_child = {joint.child: joint for joint in content.joints}
    names = {link.name for link in content.links}
    if platform not in names:
        platform = _end_of_arm(content, roots[0])
    path = _path(by_child, platform)
    drives = [joint.name for joint in path if joint.is_scalar and joint.name not in content.mimics]
    if not drives:
        return ''
    lines = [f'platform: {platform}'] if platform != content.platform else []
    if {drive.joint for drive in content.actuators} != set(drives) and not content.constraints:
        lines.append(f'actuated_joints: [{", ".join(drives)}]')
    block = '\n'.join(lines)
    return f"; if this is the robot, write into '{beside}':\n\n{block}\n" if lines else ''


def _path(by_child: dict[str, Joint], link: str) -> list[Joint]:
    """Joints from the base to a link."""
    path: list[Joint] = []
    while link in by_child and len(path) <= len(by_child):
        path.insert(0, by_child[link])
        link = by_child[link].parent
    return path


def _end_of_arm(content: UrdfContent, root: str) -> str:
    """Link at the end of the longest chain of moving joints, before a gripper branches off."""
    link = root
    while True:
        rigid = _rigid(content, link)
        ahead = [j for j in content.joints if j.parent in rigid and j.type != 'fixed']
        lengths = [_longest(content, joint) for joint in ahead]
        if not ahead or (len(ahead) > 1 and link != root and max(lengths) < FEWEST):
            return _tool(content, link)
        if len(ahead) == 1 and max(lengths) == 1 and ahead[0].type == 'prismatic' and link != root:
            return _tool(content, link)
        link = ahead[lengths.index(max(lengths))].child


def _rigid(content: UrdfContent, link: str) -> set[str]:
    """A link and those that are fixed to it, directly or by others."""
    fixed = [joint for joint in content.joints if joint.type == 'fixed']
    return {link} | links_below(fixed, link)


def _longest(content: UrdfContent, joint: Joint) -> int:
    """Most moving joints in a row from a joint on; followers of others count nothing."""
    longest, pending, seen = 0, [(joint, 0)], set()
    while pending:
        each, before = pending.pop()
        if each.name in seen:
            continue
        seen.add(each.name)
        count = before + (each.is_scalar and each.name not in content.mimics)
        longest = max(longest, count)
        pending += [(below, count) for below in content.joints if below.parent == each.child]
    return longest


def _tool(content: UrdfContent, link: str) -> str:
    """Frame of the tool that is fixed to a link, by its name; else the link."""
    order = [each.name for each in content.links]
    rigid = sorted(_rigid(content, link) - {link}, key=order.index)
    for word in TOOLS:
        for name in rigid:
            if word in _words(name):
                return name
    return link


def _words(name: str) -> Iterable[str]:
    parts = re.split(r'[^a-z0-9]+', name.lower())
    return [*parts, '_'.join(parts[-2:])]
