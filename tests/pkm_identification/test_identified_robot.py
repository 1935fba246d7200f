"""The robot that an identification found: its forces, what is said of it, what is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of

from pkm_description.sidecar_sections import read_simulation
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.friction_laws import DriveFriction
from pkm_dynamics.random_motion import random_motion
from pkm_identification import IdentificationResult, identify, load_excitation
from pkm_identification.datasets import Recording
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.physical.nearest import ConsistentParameters
from pkm_identification.result.identified_friction import IdentifiedFriction
from pkm_identification.result.identified_robot import identified_robot


@pytest.fixture(scope='module')
def result() -> IdentificationResult:
    model, design = model_of('five_bar'), load_excitation('five_bar')
    random = np.random.default_rng(0)
    time = np.arange(round(4000 * design.period)) * 1e-3
    motion = design.motion(time % design.period, model)
    forces = model.inverse_dynamics(motion, 1.2 * model.nominal_parameters)
    positions = model.actuator_states(motion).positions
    noisy = forces + 0.1 * random.normal(size=forces.shape)
    names = tuple(model.actuated_joints)
    recording = Recording.from_arrays(time, names, positions, noisy, period=design.period)
    return identify(recording.for_model(model), model)


def test_its_forces_are_those_of_the_result(result) -> None:
    found = identified_robot(result)
    assert not found.losses and result.is_physical
    motion = random_motion(result.model, 20, seed=2)
    expected = result.predict(motion)
    forces = ClosedChainModel(found.description).inverse_dynamics(motion)
    np.testing.assert_allclose(forces, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    nominal = result.model.inverse_dynamics(motion)
    assert np.abs(nominal - expected).max() > 0.1 * np.abs(expected).max()


def test_every_parameter_is_said_with_its_deviation(result) -> None:
    remarks = identified_robot(result).remarks
    rows = zip(result.names, result.values, result.standard_deviation, strict=True)
    for name, value, deviation in rows:
        assert any(f'{name} {value:.6g} +- {deviation:.2g} ' in line for line in remarks), name
    variances = np.array(result.covariance)
    variances[0] = variances[:, 0] = 0.0
    variances[0, 0] = np.inf
    unknown = identified_robot(replace(result, covariance=variances)).remarks
    (line,) = [each for each in unknown if 'not determined by the data' in each]
    assert line.startswith(f'{result.names[0]} ')


def test_friction_laws(result) -> None:
    """Stribeck friction goes to the simulated plant, other laws nowhere."""
    left, right = result.joint_names
    values = {f'{left}.stribeck_force': 0.1, f'{left}.stribeck_velocity': 0.05}
    values |= {f'{left}.stribeck_exponent': 1.0, f'{right}.atan_force': 0.2}
    values |= {f'{right}.atan_slope': 30.0}
    law = DriveFriction.from_parameters(values, [left, right], 0.02)
    count = len(law.names)
    friction = IdentifiedFriction(
        law, ('',) * count, 1e-6 * np.eye(count), np.zeros((len(result.names), count))
    )
    found = identified_robot(replace(result, drive_friction=friction))
    assert not found.losses
    assert found.law_losses == (
        f"joint '{left}': Stribeck friction is said by the YAML alone",
        f"joint '{right}': friction by the law 'atan' is left out",
    )
    coulomb = result.controller_parameters[f'{left}.coulomb']
    stribeck = read_simulation(found.description).stribeck
    assert stribeck == {left: {'static': coulomb + 0.1, 'velocity': 0.05, 'exponent': 1.0}}
    assert any(line.startswith(f'{right}.atan_slope 30 +- 0.001') for line in found.remarks)


def test_what_is_not_the_robot_is_lost(result) -> None:
    payload = PayloadEstimate('tool', 'platform', (1,), np.ones(10), np.eye(10))
    bodies = ConsistentParameters(result.standard_parameters, 2.34, 0.1, is_physical=False)
    losses = identified_robot(replace(result, payloads=(payload,), consistent=bodies)).losses
    assert losses[0].startswith('no real bodies') and '2.34 standard deviations' in losses[0]
    assert losses[1].startswith("payload 'tool' is left out")
