"""Claims of [H]: what feedforward is worth, on an electrical and on a hydraulic hexapod."""

from __future__ import annotations

from claim import Claim, Content, Judgement, case

SMALL = 0.5  # of the other factor: the mechanism's model matters less than the actuator's


def _feedforward(content: Content) -> Judgement:
    """With all effects, with the effects modelled, and with terms that the data ask for."""
    rows = content['cases']
    factors = [row['factor'] for row in rows]
    figures = ', '.join(
        f'effects {row["effects"]}, friction {row["friction"]}: {1e3 * row["without"]:.3g} to '
        f'{1e3 * row["with_model"]:.2g} mm, {row["factor"]:.3g} times'
        for row in rows
    )
    return Judgement(figures, [min(factors) > 1])


def _valves(content: Content) -> Judgement:
    parts, holds = [], []
    for direction in ('x', 'z'):
        errors = {
            row['law']: row['rms'] for row in content['laws'] if row['direction'] == direction
        }
        speed = errors['feedback'] / errors['velocity']
        actuator = errors['velocity'] / errors['velocity, actuator']
        mechanism = errors['velocity'] / errors['velocity, mechanism']
        parts.append(
            f'{direction}: speed fed forward {speed:.2g} times, then the actuator {actuator:.2g}, '
            f'the mechanism instead {mechanism:.2g} times'
        )
        holds.append(speed > 1 and actuator > 1 and mechanism - 1 < SMALL * (actuator - 1))
    return Judgement('; '.join(parts), holds)


def _forces(content: Content) -> Judgement:
    parts, holds = [], []
    for direction in ('x', 'z'):
        axes = case(content['laws'], direction=direction, law='velocity')['rms']
        forces = case(content['laws'], direction=direction, law='forces, measured speed')['rms']
        parts.append(f'{direction}: {1e3 * forces:.2g} against {1e3 * axes:.2g} mm')
        holds.append(forces > axes)
    return Judgement('; '.join(parts), holds)


CLAIMS = (
    Claim(
        'Figs 4, 5',
        'feedforward of an identified model with friction makes tracking errors of an electrical '
        'hexapod several times smaller',
        'curves without a table',
        'simulated PaLiDA, circle of 0.3 m at 1 m/s; sensors and servo are assumed',
        'effects',
        _feedforward,
    ),
    Claim(
        'hydraulic MSI, 5 Hz, 25 mm',
        "the model of the actuators matters more than that of the mechanism's forces",
        'no figures',
        'geometry, masses, cylinders and valves of this MSI are assumed',
        'hydraulics',
        _valves,
    ),
    Claim(
        'hydraulic MSI, 5 Hz, 25 mm',
        'axes that know their actuators are better than forces that the mechanism asks for',
        'no figures',
        'forces by measured speed, the best of twelve pairs of bandwidths',
        'hydraulics',
        _forces,
    ),
)
