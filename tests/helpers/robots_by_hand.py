"""Kinematics of PaLiDA and the Delta robot worked out by hand, with all time derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jets import Jet, as_jet, asin, atan2, cross, dot, turned


@dataclass(frozen=True)
class ByHand:
    """A motion of one robot.

    Attributes
    ----------
    joints : {name: Jet}
        All scalar joints.
    position : list of 3 Jet, rotation : (N, 3, 3)
        Of the platform.
    jacobian : (N, n, n)
        Between actuator rates and platform twist, whose singular values count.
    """

    joints: dict[str, Jet]
    position: list[Jet]
    rotation: np.ndarray
    jacobian: np.ndarray


def fourier(trajectory, t):
    """The coordinates as a sum over harmonics [A eq. 13]."""
    coordinates = []
    for offset, sines, cosines in zip(
        trajectory.offset, trajectory.sine, trajectory.cosine, strict=True
    ):
        value, rate, bend = np.full(len(t), offset), np.zeros(len(t)), np.zeros(len(t))
        for k, (a, b) in enumerate(zip(sines, cosines, strict=True), start=1):
            w = 2.0 * np.pi * k / trajectory.period
            s, c = np.sin(w * t), np.cos(w * t)
            value = value + a * s + b * c
            rate = rate + w * (a * c - b * s)
            bend = bend - w * w * (a * s + b * c)
        coordinates.append(Jet(value, rate, bend))
    return coordinates


def palida(x):
    """Six struts between known points; `x` are the platform's position and angles."""
    position, angles = x[:3], x[3:]

    def in_base(vector):
        out = [as_jet(v) for v in vector]
        for axis, angle in enumerate(angles):
            out = turned(axis, angle, out)
        return out

    columns = [in_base(np.eye(3)[k]) for k in range(3)]
    rotation = np.stack(
        [np.stack([np.broadcast_to(c.value, x[0].value.shape) for c in col], 1) for col in columns],
        2,
    )
    joints, rows = {}, []
    base = np.radians([-8, 8, 112, 128, -128, -112])
    top = np.radians([-45, 45, 75, 165, -165, -75])
    for n, (a, b) in enumerate(zip(base, top, strict=True), start=1):
        arm = in_base([0.09 * np.cos(b), 0.09 * np.sin(b), 0.105])
        foot = [0.55 * np.cos(a), 0.55 * np.sin(a), 0.0]
        strut = [p + r - f for p, r, f in zip(position, arm, foot, strict=True)]
        length = dot(strut, strut).sqrt()
        along = [s / length for s in strut]
        # into the first joint's frame: about z by the angle of the foot, then half a turn about x
        u = turned(2, as_jet(-a), along)
        u = [u[0], -u[1], -u[2]]
        joints[f'leg{n}_alpha'] = atan2(-u[1], u[2])
        joints[f'leg{n}_beta'] = asin(u[0])
        joints[f'leg{n}_strut'] = length
        moment = cross(arm, along)
        rows.append(np.stack([v.value for v in (*along, *moment)], axis=1))
    return ByHand(joints, position, rotation, np.stack(rows, axis=1))


def delta(q):
    """Where three spheres about the elbows, moved in by the platform's radius, meet."""
    angles = np.radians([0.0, 120.0, 240.0])
    out = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    centres = []
    for o, angle in zip(out, q, strict=True):
        reach, drop = 0.15 + 0.35 * angle.cos(), -0.35 * angle.sin()
        centres.append([o[0] * reach, o[1] * reach, drop])
    first = centres[0]
    normals = [[b - a for a, b in zip(first, c, strict=True)] for c in centres[1:]]
    right = [0.5 * (dot(c, c) - dot(first, first)) for c in centres[1:]]
    line = cross(normals[0], normals[1])
    square = dot(line, line)
    parts = cross(normals[1], line), cross(line, normals[0])
    foot = [(right[0] * a + right[1] * b) / square for a, b in zip(*parts, strict=True)]
    away = [a - b for a, b in zip(foot, first, strict=True)]
    size = square.sqrt()
    unit = [v / size for v in line]
    b = dot(away, unit)
    root = (b * b - dot(away, away) + 0.8**2).sqrt()
    lower = np.sign(-unit[2].value)  # the point below
    s = lower * root - b
    position = [f + s * u for f, u in zip(foot, unit, strict=True)]
    joints = {}
    for n, (angle, arm, centre) in enumerate(zip(angles, q, centres, strict=True), start=1):
        joints[f'arm{n}_joint'] = arm
        rod = [p - c for p, c in zip(position, centre, strict=True)]
        u = turned(1, -arm, turned(2, as_jet(-angle), rod))
        u = [-u[0], u[1], -u[2]]  # half a turn about y
        for letter in 'ab':
            joints[f'rod{n}{letter}_swing'] = atan2(u[0], u[2])
            joints[f'rod{n}{letter}_side'] = asin(u[1] * (-1.0 / 0.8))
    n = len(position[0].value)
    # rod . (dp - dc) = 0 for each rod: velocity of the platform per rate of an arm
    rods = [[p - c for p, c in zip(position, centre, strict=True)] for centre in centres]
    left = np.stack([np.stack([v.value for v in rod], axis=1) for rod in rods], axis=1)
    pull = np.zeros((n, 3, 3))
    for k, (o, arm) in enumerate(zip(out, q, strict=True)):
        speed = [-0.35 * o[0] * arm.sin(), -0.35 * o[1] * arm.sin(), -0.35 * arm.cos()]
        pull[:, k, k] = sum(left[:, k, i] * speed[i].value for i in range(3))
    rotation = np.broadcast_to(np.eye(3), (n, 3, 3))
    return ByHand(joints, position, rotation, np.linalg.solve(left, pull))
