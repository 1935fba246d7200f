"""Positions: linear systems of the closing rows, Newton with step control.

A Newton step moves the independent coordinates towards their target and the dependent
ones so that the loops stay closed to first order; steps are so short that a distant
target is approached along a path that stays on the branch it started from.

A configuration is (joints (n_j,), position (3,), rotation (3, 3)) of one sample or a batch; a
target is (platform position, platform rotation, actuator positions (n_a,)).
"""

from __future__ import annotations

import numpy as np

from pkm_description.kinematic_tree import FIXED, FLOATING, PRISMATIC
from pkm_dynamics.kernels.decorator import compiled, inlined
from pkm_dynamics.kernels.vectors import (
    copy_matrix,
    copy_vector,
    factor,
    multiply_into,
    rotation_vector_into,
    solve,
    vector_rotation_into,
)
from pkm_dynamics.kernels.work import (
    block_of,
    evaluate,
    make_work,
    put,
    put_block,
    put_configuration,
)
from pkm_dynamics.layout import (
    LANES,
    LARGEST_STEP,
    LARGEST_TURN,
    LEAST_DETERMINANT,
    RESIDUAL_TOLERANCE,
    SMALLEST_STEP,
    STEP_TOLERANCE,
    TURN_TOLERANCE,
)

CONVERGED, NOT_CONVERGED, SINGULAR, WRONG_BRANCH = 0, 1, 2, 3
BY_PLATFORM, BY_ACTUATORS = 0, 1
MAX_ITERATIONS = 500
_BLOCK_ITERATIONS = 12


@compiled
def linearise(m, w, lane):
    """Factor one lane's systems and fill its mapping from `systems`' outputs; returns a status."""
    n_i, n_a, n_r = len(m.independent), len(m.actuated), m.n_r
    mapping = w.mapping[lane]
    status = CONVERGED
    for i in range(n_i):
        for j in range(n_i):
            mapping[m.independent[i], j] = 1.0 if i == j else 0.0
    entry = n_r
    coupling = n_r
    for c in range(len(m.component_start) - 1):
        coupling += (m.component_start[c + 1] - m.component_start[c]) ** 2
    for c in range(len(m.component_start) - 1):
        start, end = m.component_start[c], m.component_start[c + 1]
        n = end - start
        system = w.systems[lane, c]
        for i in range(n):
            for j in range(n):
                system[i, j] = w.outputs[entry, lane]
                entry += 1
        determinant = factor(system, n, w.pivots[lane, c])
        found = branch_status(determinant / m.component_determinant[c])
        if found == SINGULAR:
            return SINGULAR
        status = max(status, found)
        for k in range(n_i):
            for i in range(n):
                w.right[i] = -w.outputs[coupling + n_i * (start + i) + k, lane]
            solve(system, n, w.pivots[lane, c], w.right)
            for i in range(n):
                mapping[m.component_coordinates[start + i], k] = w.right[i]
    actuation = w.actuation[lane]
    for i in range(n_a):
        for j in range(n_i):
            actuation[i, j] = mapping[m.actuated[i], j]
    determinant = factor(actuation, n_a, w.actuation_pivots[lane])
    found = branch_status(determinant / m.actuation_determinant)
    return SINGULAR if found == SINGULAR else max(status, found)


@compiled
def branch_status(determinant):
    """Status of a determinant that is given by its value at home."""
    if not abs(determinant) > LEAST_DETERMINANT:
        return SINGULAR
    return CONVERGED if determinant > 0.0 else WRONG_BRANCH


@inlined
def dependent_solution(m, w, lane, chosen, out):
    """Dependent entries of `out` (n_v,) that answer the chosen rows `chosen` (n_d,)."""
    for c in range(len(m.component_start) - 1):
        start, end = m.component_start[c], m.component_start[c + 1]
        n = end - start
        for i in range(n):
            w.right[i] = chosen[start + i]
        solve(w.systems[lane, c], n, w.pivots[lane, c], w.right)
        for i in range(n):
            out[m.component_coordinates[start + i]] = w.right[i]


@inlined
def independent_step(m, w, mode, target, here):
    """Change of the independent coordinates that would reach the target."""
    p_target, r_target, q_target = target
    joints, p, r = here
    n_i, n_a = len(m.independent), len(m.actuated)
    step = w.independent
    if mode == BY_PLATFORM:
        for i in range(3):
            step[i] = p_target[i] - p[i]
        for i in range(3):
            for j in range(3):
                w.m1[i, j] = r[j, i]
        multiply_into(r_target, w.m1, w.m2)
        rotation_vector_into(w.m2, w.a)
        for i in range(3):
            step[3 + i] = w.a[i]
        return
    for i in range(n_a):
        missing = q_target[i] - joints[m.actuated_scalar[i]]
        w.right[i] = missing - w.change[m.actuated[i]]
    if m.independent_is_platform:
        solve(w.actuation[0], n_a, w.actuation_pivots[0], w.right)
    for i in range(n_i):
        step[i] = w.right[i]


@inlined
def newton_change(m, code, w, mode, target, here):
    """Full Newton step of lane 0 in `w.change` (n_v,); returns a status, fills `w.gap`."""
    n_v, n_i, n_d = m.n_v, len(m.independent), len(m.component_rows)
    row = put_configuration(w, 0, here[0], here[1], here[2])
    if code.inline and mode == BY_ACTUATORS:
        put(w, 0, row, target[2])
        evaluate(code.approach, w.inputs, w.no_parameters, w.outputs)
        copy_vector(w.outputs[:n_v, 0], w.change)
        w.gap[0] = w.outputs[n_v, 0]
        return branch_status(w.outputs[n_v + 1, 0])
    evaluate(code.systems, w.inputs, w.no_parameters, w.outputs)
    w.gap[0] = 0.0
    for i in range(m.n_r):
        w.gap[0] = max(w.gap[0], abs(w.outputs[i, 0]))
    for i in range(n_d):
        w.chosen[i] = -w.outputs[m.component_rows[i], 0]
    lane = np.int64(0)  # a literal would be compiled for itself
    status = linearise(m, w, lane)
    if status == SINGULAR:
        return SINGULAR
    for k in range(n_v):
        w.change[k] = 0.0
    dependent_solution(m, w, lane, w.chosen, w.change)
    independent_step(m, w, mode, target, here)
    for k in range(n_v):
        for j in range(n_i):
            w.change[k] += w.mapping[0, k, j] * w.independent[j]
    return status


@inlined
def component_flipped(m, w):
    """Whether the determinant of any component of lane 0 has another sign than at home."""
    for c in range(len(m.component_start) - 1):
        sign = m.component_determinant[c]
        for k in range(m.component_start[c + 1] - m.component_start[c]):
            if w.systems[0, c, k, k] < 0.0:
                sign = -sign
            if w.pivots[0, c, k] != k:
                sign = -sign
        if sign < 0.0:
            return True
    return False


@compiled
def newton(m, code, w, mode, target, here, largest):
    """Move a configuration in place to the target; uses lane 0.

    The residuals shrink in proportion along the exact path, which is the straight way of
    the actuators (or of the platform) to the target. A step is taken back and shortened
    where the next Newton step turns by more than `LARGEST_TURN` of this one from what a
    straight path would give, or where a determinant changes its sign: with so small a
    turn the mapping is one to one around the step (Newton-Kantorovich), so the iterates
    cannot change to another assembly. A path that ends at a singularity is given up.
    """
    last = here[0].copy(), here[1].copy(), here[2].copy()
    last_change, turned = np.zeros(m.n_v), np.empty(m.n_v)
    before, scale, stride = 0.0, 0.0, largest
    for _ in range(MAX_ITERATIONS):
        status = newton_change(m, code, w, mode, target, here)
        flipped = status != CONVERGED
        if mode == BY_PLATFORM and status == WRONG_BRANCH:
            # Poses beyond a singularity of the actuators may lie on the way, not at the end.
            flipped = component_flipped(m, w)
        longest, turn = np.inf, np.inf
        if not flipped:
            longest = largest_change(m, w.change)
            for k in range(m.n_v):
                turned[k] = w.change[k] - (1.0 - scale) * last_change[k]
            turn = largest_change(m, turned)
        if scale > 0.0 and turn > max(LARGEST_TURN * before, TURN_TOLERANCE):
            stride = scale * before * max(0.25, min(0.5, 0.7 * LARGEST_TURN * before / turn))
            if stride < SMALLEST_STEP:
                return SINGULAR if status == CONVERGED else status
            copy_configuration(last, here)
            copy_vector(last_change, w.change)
        elif not np.isfinite(longest):
            return status if status != CONVERGED else NOT_CONVERGED
        else:
            if longest < STEP_TOLERANCE:
                closed = w.gap[0] <= RESIDUAL_TOLERANCE * (1.0 + m.length_scale)
                return status if closed else NOT_CONVERGED
            if scale > 0.0:
                stride *= max(0.5, min(3.0, 0.7 * LARGEST_TURN * before / max(turn, 1e-300)))
                stride = min(stride, largest)
            copy_configuration(here, last)
            copy_vector(w.change, last_change)
            before = longest
        scale = min(1.0, stride / before)
        move(m, w, scale, here)
    return NOT_CONVERGED


@inlined
def largest_change(m, change):
    """Largest change of a coordinate: angles [rad], lengths in units of the mechanism's size."""
    longest = 0.0
    for value in change:
        if not np.isfinite(value):
            return np.inf
    for body in range(len(m.joint_kind)):
        first, kind = m.coordinate[body], m.joint_kind[body]
        if kind == FIXED:
            continue
        if kind == FLOATING:
            for i in range(3):
                longest = max(longest, abs(change[first + i]) / m.length_scale)
                longest = max(longest, abs(change[first + 3 + i]))
        elif kind == PRISMATIC:
            longest = max(longest, abs(change[first]) / m.length_scale)
        else:
            longest = max(longest, abs(change[first]))
    return longest


@inlined
def move(m, w, scale, here):
    """Apply `scale` times the change to the configuration."""
    joints, p, r = here
    for body in range(len(m.joint_kind)):
        first = m.coordinate[body]
        if m.scalar_index[body] >= 0:
            joints[m.scalar_index[body]] += scale * w.change[first]
        elif m.joint_kind[body] == FLOATING:
            for i in range(3):
                p[i] += scale * w.change[first + i]
                w.a[i] = scale * w.change[first + 3 + i]
            vector_rotation_into(w.a, w.m1)
            copy_matrix(r, w.m2)
            multiply_into(w.m1, w.m2, r)


@inlined
def copy_configuration(source, out):
    """Overwrite a configuration by another one."""
    copy_vector(source[0], out[0])
    copy_vector(source[1], out[1])
    copy_matrix(source[2], out[2])


@inlined
def search(m, code, w, mode, target, here, home):
    """Close one sample from where it stands, else from home in short steps."""
    result = newton(m, code, w, mode, target, here, LARGEST_STEP)
    if result != CONVERGED:
        copy_configuration(home, here)
        result = newton(m, code, w, mode, target, here, 0.2 * LARGEST_STEP)
    return result


@compiled
def check_configurations(m, code, joints, p, r, determinants):
    """Check given configurations: closing rows, pose of a platform on joints, determinants.

    Returns the largest residuals (N,) [m, 1] of the rows, how far (N,) [m, 1] the joints put
    a platform that hangs on them from its pose, and, with `determinants`, which
    configurations are singular.
    """
    n = len(joints)
    gaps, away, singular = np.zeros(n), np.zeros(n), np.zeros(n, np.bool_)
    w = make_work(m)
    for first in range(0, n, LANES):
        count = block_of(first, n)
        put_block(w, first, count, joints, p, r)
        evaluate(code.systems, w.inputs, w.no_parameters, w.outputs)
        for lane in range(count):
            for row in range(m.n_r):
                gap = abs(w.outputs[row, lane])
                if not gap <= gaps[first + lane]:
                    gaps[first + lane] = gap
            if determinants:
                singular[first + lane] = linearise(m, w, lane) == SINGULAR
        if m.floating_body < 0:
            evaluate(code.pose, w.inputs, w.no_parameters, w.outputs)
            start = joints.shape[1]
            for lane in range(count):
                for i in range(12):
                    miss = abs(w.outputs[i, lane] - w.inputs[start + i, lane])
                    away[first + lane] = max(away[first + lane], miss)
    return gaps, away, singular


@compiled
def solve_positions(m, code, mode, targets, guess, per_sample, from_home, home):
    """Close every sample of a batch, one after another.

    The guesses start each sample where `per_sample`, else the first one starts the first
    sample and every later one starts at its predecessor. With `from_home`, a sample that fails
    is tried again from home in short steps. Returns joints (N, n_j), positions (N, 3),
    rotations (N, 3, 3), largest residuals (N,) and statuses (N,).
    """
    p_target, r_target, q_target = targets
    n = max(len(p_target), len(q_target))
    joints, p, r = np.empty((n, len(home[0]))), np.empty((n, 3)), np.empty((n, 3, 3))
    status, residual = np.zeros(n, np.int64), np.zeros(n)
    w = make_work(m)
    last, none_q = -1, np.zeros(len(m.actuated))
    for k in range(n):
        pt = p_target[k] if mode == BY_PLATFORM else home[1]
        rt = r_target[k] if mode == BY_PLATFORM else home[2]
        qt = q_target[k] if mode == BY_ACTUATORS else none_q
        here = joints[k], p[k], r[k]
        if last >= 0 and not per_sample:
            copy_configuration((joints[last], p[last], r[last]), here)
        else:
            given = k if per_sample else 0
            copy_configuration((guess[0][given], guess[1][given], guess[2][given]), here)
        if from_home:
            status[k] = search(m, code, w, mode, (pt, rt, qt), here, home)
        else:
            status[k] = newton(m, code, w, mode, (pt, rt, qt), here, LARGEST_STEP)
        if status[k] == CONVERGED:
            last = k
        residual[k] = w.gap[0]
    if m.floating_body < 0:
        platform_poses(m, code, w, joints, p, r)
    return joints, p, r, residual, status


@inlined
def platform_poses(m, code, w, joints, p, r):
    """Fill positions (N, 3) and rotations (N, 3, 3) of a platform that hangs on joints."""
    n = len(joints)
    for first in range(0, n, LANES):
        count = block_of(first, n)
        put_block(w, first, count, joints, p, r)
        evaluate(code.pose, w.inputs, w.no_parameters, w.outputs)
        for lane in range(count):
            for i in range(3):
                p[first + lane, i] = w.outputs[i, lane]
                for j in range(3):
                    r[first + lane, i, j] = w.outputs[3 + 3 * i + j, lane]


@inlined
def close_block(m, code, w, first, count, p, r, joints, status):
    """Newton of a block of samples at given platform poses, from what `joints` hold."""
    n_j = joints.shape[1]
    for lane in range(LANES):
        k = first + min(lane, count - 1)
        put_configuration(w, lane, joints[k], p[k], r[k])
    # Steps that shrink slowly may lead to another assembly: such samples are searched for.
    before, straight = np.full(LANES, LARGEST_STEP), np.ones(LANES, np.bool_)
    for _ in range(_BLOCK_ITERATIONS):
        evaluate(code.newton, w.inputs, w.no_parameters, w.outputs)
        copy_matrix(w.outputs[:n_j], w.inputs)
        closed = True
        for lane in range(LANES):
            longest = w.outputs[n_j, lane]
            if not longest <= max(before[lane], TURN_TOLERANCE):
                straight[lane] = False
            before[lane] = 0.25 * longest
            if not longest < STEP_TOLERANCE:
                closed = False
        if closed:
            break
    for lane in range(count):
        ok = straight[lane] and w.outputs[n_j, lane] < STEP_TOLERANCE
        status[first + lane] = CONVERGED if ok else NOT_CONVERGED
        for i in range(n_j):
            joints[first + lane, i] = w.inputs[i, lane]
    evaluate(code.branch, w.inputs, w.no_parameters, w.outputs)
    for lane in range(count):
        branch = branch_status(w.outputs[0, lane])
        if branch != CONVERGED:
            status[first + lane] = branch


@compiled
def close_poses(m, code, p, r, guess, per_sample, home):
    """Joints (N, n_j), residuals and statuses (N,) at platform poses, a block at a time.

    Started as in `solve_positions`; a block starts at the last closed sample before it,
    and samples that do not close so are searched for one by one.
    """
    n = len(p)
    joints = np.empty((n, len(home[0])))
    status, residual = np.zeros(n, np.int64), np.zeros(n)
    w = make_work(m)
    none_q, pose_p, pose_r = np.zeros(len(m.actuated)), np.empty(3), np.empty((3, 3))
    last = -1
    for first in range(0, n, LANES):
        count = block_of(first, n)
        for k in range(first, first + count):
            if last >= 0 and not per_sample:
                copy_vector(joints[last], joints[k])
            else:
                copy_vector(guess[k if per_sample else 0], joints[k])
        close_block(m, code, w, first, count, p, r, joints, status)
        for k in range(first, first + count):
            if status[k] != CONVERGED:
                near = last
                for other in range(first, first + count):
                    if status[other] == CONVERGED and (near < first or other < k):
                        near = other
                here = joints[k], pose_p, pose_r
                if near >= 0:
                    copy_configuration((joints[near], p[near], r[near]), here)
                else:
                    copy_configuration(home, here)
                status[k] = search(m, code, w, BY_PLATFORM, (p[k], r[k], none_q), here, home)
                residual[k] = w.gap[0]
        for k in range(first, first + count):
            if status[k] == CONVERGED:
                last = k
    return joints, residual, status
