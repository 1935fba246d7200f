"""Figures and margins of designs, recomputed by other means, agree to 1e-6.

The motion is summed harmonic by harmonic and followed through hand-written kinematics;
regressors are Pinocchio's, friction and rotors by hand; criteria come from the
information matrix, margins from a fine grid refined around the worst instants, clearances
from MuJoCo. Taken from the code under test: the parameter names, which combinations of
standard parameters are identified, and the designs.
"""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

pytest.importorskip('pinocchio')

import robots_by_hand
from jets import Jet
from mujoco_capsules import MujocoCapsules
from pinocchio_oracle import PinocchioOracle

from pkm_dynamics.analysis.clearances import BodyDistances
from pkm_identification.excitation import DesignLimits, design_excitation

AGREE = 1e-6
RATE = 250.0  # [Hz]
BY_HAND = {'palida': robots_by_hand.palida, 'delta': robots_by_hand.delta}
OPTIONS = {'harmonics': 3, 'starts': 1, 'candidates': 2, 'iterations': 12, 'workers': 1}


class Recomputed:
    """One design of one robot, by other means."""

    def __init__(self, name):
        self.model = model_of(name)
        covariance = np.diag(np.linspace(1.0, 3.0, self.model.n_a)) + 0.5
        limits = DesignLimits(acceleration=80.0, force_margin=0.4)
        self.design = design_excitation(
            self.model, noise_covariance=covariance, sampling_rate=RATE, limits=limits, **OPTIONS
        )
        self.inverse_noise = np.linalg.inv(covariance)
        self.oracle = PinocchioOracle(self.model.description)
        self.by_hand = BY_HAND[name]
        self.transition = float(self.model.description.sidecar['transition_velocity'])
        self.rotors = self.model.description.sidecar.get('rotor_inertia', {})
        self.period = self.design.period
        platform = (*self.model.home_position, 0.0, 0.0, 0.0)
        self.home = platform if name == 'palida' else self.model.home_actuators

    def moved(self, t):
        return self.by_hand(robots_by_hand.fourier(self.design.trajectory, t))

    def regressor(self, t):
        """Actuator forces per standard parameter (N, n_a, n_p)."""
        motion, model = self.moved(t), self.model
        joints = motion.joints
        rates = np.stack([joints[n].rate for n in model.actuated_joints], axis=1)
        bends = np.stack([joints[n].bend for n in model.actuated_joints], axis=1)
        place = {name: i for i, name in enumerate(model.parameter_names)}
        out = np.zeros((len(t), model.n_a, model.n_p))
        for k in range(len(t)):
            q = self.oracle.place(
                {name: jet.value[k] for name, jet in joints.items()},
                [p.value[k] for p in motion.position],
                motion.rotation[k],
            )
            q, v, a, transfer = self.oracle.driven(q, model.actuated_joints, rates[k], bends[k])
            names, columns = self.oracle.rigid_columns(q, v, a, transfer)
            known = [i for i, name in enumerate(names) if name in place]
            out[k][:, [place[names[i]] for i in known]] = columns[:, known]
            for name, jet in joints.items():
                index, rate = self.oracle.rate_index(name), jet.rate[k]
                assert v[index] == pytest.approx(rate, abs=1e-7)
                friction = {
                    'coulomb': np.clip(rate / self.transition, -1.0, 1.0),
                    'viscous': rate,
                    'rotor': jet.bend[k],
                }
                for kind, value in friction.items():
                    if f'{name}.{kind}' in place:
                        out[k][:, place[f'{name}.{kind}']] = transfer[index] * value
        return out

    def forces(self, t):
        return self.regressor(t) @ self.model.nominal_parameters

    def lowest(self, function, count=4001, sizes=1.0):
        """Value that is the smallest share of its size, of (N, n) functions of time.

        Over one period, refined near its instant; `sizes` (n,).
        """
        low, high, least, found = 0.0, self.period, np.inf, np.inf
        for _ in range(3):
            t = np.linspace(low, high, count)
            values = function(t)
            shares = values / sizes
            at, column = np.unravel_index(np.argmin(shares), shares.shape)
            if shares[at, column] < least:
                least, found = shares[at, column], values[at, column]
            step = t[1] - t[0]
            low, high, count = t[at] - step, t[at] + step, 41
        return found


@pytest.fixture(scope='module', params=sorted(BY_HAND))
def again(request):
    return Recomputed(request.param)


def test_criteria_and_standard_deviations(again):
    design, model = again.design, again.model
    figures = design.figures
    count = round(again.period * RATE)
    columns = model.base_parameters(shared=True, reduced=True).columns
    base = again.regressor(np.arange(count) / RATE) @ columns
    information = np.einsum('tai,ab,tbj->ij', base, again.inverse_noise, base, optimize=True)
    scale = 1.0 / np.sqrt(np.diag(information))
    unit = information * np.outer(scale, scale)  # conditioned well enough to be inverted
    inverse = np.outer(scale, scale) * np.linalg.inv(unit)
    eigenvalues = np.linalg.eigvalsh(information)
    volume = -np.linalg.slogdet(unit)[1] + 2.0 * np.sum(np.log(scale))
    expected = {
        'd_optimal': volume,
        'a_optimal': np.trace(inverse),
        'e_optimal': 1.0 / np.linalg.eigvalsh(inverse)[-1],
        'condition_number': np.sqrt(eigenvalues[-1] * np.linalg.eigvalsh(inverse)[-1]),
        'condition_number_scaled': np.sqrt(np.linalg.cond(unit)),
        'd_optimal_per_second': volume + len(unit) * np.log(again.period),
    }
    for name, value in expected.items():
        assert figures[name] == pytest.approx(value, rel=AGREE), name
    assert figures['samples'] == count and figures['parameters'] == len(unit)
    deviations = np.sqrt(np.diag(inverse))
    assert list(figures['standard_deviation'].values()) == pytest.approx(deviations, rel=AGREE)
    several = list(design.standard_deviation(7).values())
    assert several == pytest.approx(deviations / np.sqrt(7.0), rel=AGREE)
    own = design.period_information * np.outer(scale, scale)
    np.testing.assert_allclose(own, unit, atol=AGREE)


def check_margin(again, name, expected, agree=AGREE):
    """The recorded margin, relative to the size of what is limited."""
    margin = again.design.margins[name]
    size = max(abs(margin['limit']), abs(margin['value']))
    assert margin['margin'] == pytest.approx(expected, abs=agree * size), (name, margin)


def test_margins_of_joints_and_workspace(again):
    model, description = again.model, again.model.description
    driven = set(model.actuated_joints)
    limits = {name: description.joint(name).limit for name in model.joint_names}
    for chosen, range_name, speed_name in (
        (driven, 'stroke', 'velocity'),
        (set(limits) - driven, 'joint', 'joint_velocity'),
    ):

        def ranges(t, chosen=chosen):
            joints = again.moved(t).joints
            ends = [(joints[n].value, limits[n].lower, limits[n].upper) for n in chosen]
            return np.stack([s for v, low, up in ends for s in (v - low, up - v)], axis=1)

        def speeds(t, chosen=chosen):
            joints = again.moved(t).joints
            return np.stack([limits[n].velocity - np.abs(joints[n].rate) for n in chosen], axis=1)

        spans = [limits[n].upper - limits[n].lower for n in chosen for _ in range(2)]
        tops = [limits[n].velocity for n in chosen]
        check_margin(again, range_name, again.lowest(ranges, sizes=np.array(spans)))
        check_margin(again, speed_name, again.lowest(speeds, sizes=np.array(tops)))
    pushed = again.lowest(
        lambda t: np.stack([80.0 - np.abs(again.moved(t).joints[n].bend) for n in driven], axis=1)
    )
    # the peak of a parabola through three samples at 1 kHz, of the fastest signal there is
    check_margin(again, 'acceleration', pushed, agree=1e-5)
    workspace = description.sidecar['workspace']
    lower, upper = workspace['position_lower'], workspace['position_upper']

    def box(t):
        sides = zip(again.moved(t).position, lower, upper, strict=True)
        return np.stack([s for p, low, up in sides for s in (p.value - low, up - p.value)], axis=1)

    spans = np.repeat(np.array(upper) - np.array(lower), 2)
    check_margin(again, 'workspace', again.lowest(box, sizes=spans))
    if 'tilt' in workspace:
        tilted = again.lowest(
            lambda t: workspace['tilt'] - np.arccos(again.moved(t).rotation[:, 2, 2:])
        )
        check_margin(again, 'tilt', tilted)


def test_margins_of_forces_clearance_and_conditioning(again):
    limit = again.model.force_limit
    pushed = again.lowest(lambda t: limit - np.abs(again.forces(t)), count=int(RATE))
    force = again.design.margins['force']
    # Across a jump of Coulomb friction a parabola through three samples overshoots by up to 1/8
    # of it, and one at its corner misses what the force still rises until the next sample.
    friction = again.model.description.joint(force['name']).friction
    jump = 2.0 * (friction.coulomb if friction else 0.0)
    tolerance = AGREE * abs(force['limit'])
    corner = 1e-3 * abs(force['limit'])
    assert pushed - jump / 8.0 - tolerance <= force['margin'] <= pushed + corner, force

    home = again.by_hand([Jet(np.array([value])) for value in again.home])

    def condition(t):
        jacobian = again.moved(t).jacobian.copy()
        if jacobian.shape[2] == 6:  # rotation counts as translation at home
            block = home.jacobian[0]
            jacobian[:, :, 3:] *= np.linalg.norm(block[:, :3]) / np.linalg.norm(block[:, 3:])
        return -np.linalg.cond(jacobian)[:, None]

    found = again.design.margins['conditioning']
    around = -condition(found['time'] + 1e-3 * np.arange(-2, 3))[:, 0]
    before, at, after = around[1:4]
    peak = at - (after - before) ** 2 / (8.0 * (before - 2.0 * at + after))
    assert found['value'] == pytest.approx(peak, rel=1e-9)
    # A parabola through three samples misses a peak by up to a sixteenth of the third differences.
    missed = np.abs(np.diff(around, 3)).max() / 4.0 + 1e-9 * peak
    assert found['value'] == pytest.approx(-again.lowest(condition), abs=missed)
    worst = again.design.margins['clearance']
    gaps = Gaps(again)
    check_margin(again, 'clearance', again.lowest(lambda t: gaps(t, [worst['name']]), count=501))
    everywhere = gaps(np.linspace(0.0, again.period, 21), BodyDistances(again.model).pairs)
    assert everywhere.min() > worst['value'] - 1e-9


class Gaps:
    """Clearances by MuJoCo, of those shapes that do not form a joint at home."""

    def __init__(self, again):
        self.again, self.capsules = again, MujocoCapsules(again.model.description)
        model = again.model
        joints = dict(zip(model.joint_names, model.home_joints, strict=True))
        self.capsules.place(joints, model.home_position, model.home_rotation)
        self.counted = {}
        for pair in BodyDistances(model).pairs:
            found = self.capsules.gaps(*pair.split('-'))
            radii = self.capsules.radii
            joined = min(found.values()) < 0.0
            self.counted[pair] = [
                (i, j)
                for (i, j), gap in found.items()
                if not joined or gap > min(radii[i], radii[j])
            ]

    def __call__(self, t, pairs):
        motion, out = self.again.moved(t), []
        for k in range(len(t)):
            joints = {name: jet.value[k] for name, jet in motion.joints.items()}
            position = np.array([p.value[k] for p in motion.position])
            self.capsules.place(joints, position, motion.rotation[k])
            found = [self.capsules.gaps(*pair.split('-')) for pair in pairs]
            out.append(
                [min(g[key] for key in self.counted[p]) for p, g in zip(pairs, found, strict=True)]
            )
        return np.array(out)
