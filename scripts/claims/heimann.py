"""Claims of [H]: what feedforward is worth, on an electrical and on a hydraulic hexapod."""

from __future__ import annotations

from claim import Claim, Content, Judgement, case

SMALL = 0.5  # of the other factor: the mechanism's model matters less than the actuator's


def _feedforward(content: Content) -> Judgement:
    """With all effects and the friction of the description, as [H] had them."""
    row = case(content['cases'], effects='all', friction='described')
    tracked = row['tracked']
    parts, holds = [], []
    for phase, words in (('ramps', 'on the ramps'), ('full_speed', 'at full speed')):
        errors = [tracked[law][phase] for law in ('nothing', 'rigid_body', 'identified')]
        parts.append(f'{words} {", ".join(f"{1e3 * error:.2g}" for error in errors)} mm')
        holds += [errors[1] < errors[0], errors[2] < errors[1]]
    figures = f'without, with the rigid body, with friction: {"; ".join(parts)}'
    return Judgement(figures, holds)


def _platform(content: Content) -> Judgement:
    rows = content['cases']
    figures = '; '.join(
        f'effects {row["effects"]}, friction {row["friction"]}: '
        f'{min(row["factors"]):.3g} to {max(row["factors"]):.3g} times in {row["runs"]} runs'
        for row in rows
    )
    return Judgement(figures, [min(row['factors']) > 1 for row in rows])


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
        'the rigid body makes errors of the actuators smaller, most of all where they are largest, '
        'while the platform speeds up and slows down; friction then those at constant speed',
        'curves without figures',
        'simulated PaLiDA on the same circle; its servo and sensors are assumed',
        'effects',
        _feedforward,
    ),
    Claim(
        'Figs 4, 5',
        'feedforward of an identified model makes tracking more exact',
        'curves without figures',
        'at full speed, by cases: what the plant has, and what of it the model knows',
        'effects',
        _platform,
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
