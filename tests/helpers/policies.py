"""Write the SROS 2 policies from what the nodes use: `python tests/helpers/policies.py`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from node_rights import KINDS, Uses, used_names

from pkm_dynamics.drive_types import COMMANDS, VALVES

POLICIES = Path(__file__).resolve().parents[2] / 'pkm_bringup' / 'policies' / 'pkm.policy.xml'
VERSION = '0.2.0'  # of the schema
PREFIX = '/pkm/'  # of the paths of enclaves
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- Who may do what: one enclave a node. `python tests/helpers/policies.py` writes this file from
     what the nodes use of a running graph, and from its own table for people, devices and the
     programs of others. pkm_bringup/doc/security.md says how it is used. -->
"""
# Nodes of a process of another node share its enclave.
SHARED = {'excitation_server_recorder': 'excitation_server'}
# Programs that stay in no namespace, whatever that of the robot is: their own names are absolute.
CLIENTS = ('pkm_excite', 'pkm_commission', 'pkm_commission_move', 'pkm_monitor', 'pkm_view')
# What a node uses only where something is installed, or with other drives, that this graph was
# watched without.
UNSEEN: dict[str, dict[str, set[str]]] = {
    'simulated_robot': {'subscribe': {COMMANDS[VALVES]}},
    'state_completer': {'publish': {'/tf'}},  # tf2_msgs
    'trajectory_controller': {'publish': {COMMANDS[VALVES]}},
}

LOG = {'/rosout', '/parameter_events'}
PARAMETERS = {
    '~/describe_parameters',
    '~/get_parameter_types',
    '~/get_parameters',
    '~/get_type_description',
    '~/list_parameters',
    '~/set_parameters',
    '~/set_parameters_atomically',
}


def _absolute(node: str, names: set[str]) -> set[str]:
    return {f'/{node}{name[1:]}' if name.startswith('~') else name for name in names}


_C = 'trajectory_controller'
# What a node in C++ uses besides its own topics.
_PLAIN = {'publish': LOG, 'subscribe': {'/parameter_events', '/clock'}, 'reply': PARAMETERS}
# Not nodes of this project, and its guard, whose controller is none. Profiles have the names of the
# nodes; `operator`, `stop_device` and `robot` stand for whatever runs there.
OTHERS: dict[str, dict[str, set[str]]] = {
    # the drives of a real robot, instead of `simulated_robot`
    'robot': {
        'publish': LOG
        | {'brakes/closed', 'drives/homed', 'drives/ready', 'joint_states', 'motor_currents'},
        'subscribe': {'brakes/close', *COMMANDS.values()},
        'reply': PARAMETERS,
    },
    # a button or a safety controller: it can stop the robot and enable it, but not reset a stop
    'stop_device': {
        'publish': LOG | {f'{_C}/enabling_device', f'{_C}/protective_stop'},
        'subscribe': {f'{_C}/protective_stop_active', f'{_C}/ready_to_move'},
        'reply': PARAMETERS,
    },
    # `pkm guard`, beside a robot that joint_trajectory_controller moves
    'pkm_guard': {
        'publish': LOG | {'diagnostics'},
        'subscribe': {'joint_trajectory_controller/controller_state'},
        'reply': _absolute('pkm_guard', PARAMETERS),
        'call': {'joint_trajectory_controller/follow_joint_trajectory'},
    },
    # a person with the commands of ros2
    'operator': {
        'publish': LOG | {f'{_C}/protective_stop', f'{_C}/speed_override'},
        'subscribe': {'*', '/clock', '/parameter_events', '/rosout', '/tf', '/tf_static'},
        'reply': {'/_ros2cli_*/get_type_description'},
        'request': {
            f'{_C}/{name}'
            for name in (
                'change_state',
                'describe_parameters',
                'get_available_states',
                'get_available_transitions',
                'get_parameter_types',
                'get_parameters',
                'get_state',
                'list_parameters',
                'protective_stop',
                'recover',
                'reset_protective_stop',
                'set_parameters',
            )
        }
        | {f'estimation_server/{name}' for name in ('apply_model', 'identify', 'validate')},
        'call': {
            f'{_C}/jog',
            'estimation_server/compare',
            'estimation_server/identify_with_progress',
            'excitation_server/excite',
        },
    },
    'robot_state_publisher': {
        'publish': LOG | {'/tf', '/tf_static', '~/robot_description'},
        'subscribe': _PLAIN['subscribe'] | {'joint_states_complete'},
        'reply': PARAMETERS,
    },
    'diagnostic_aggregator': {
        'publish': LOG | {'diagnostics_agg', 'diagnostics_toplevel_state'},
        'subscribe': _PLAIN['subscribe'] | {'diagnostics'},
        'reply': PARAMETERS,
    },
    # displays hear everything and say nothing
    **{
        name: {
            'publish': LOG,
            'subscribe': {'*', '/clock', '/parameter_events', '/rosout', '/tf', '/tf_static'},
            'reply': {f'/{name}{each[1:]}' for each in PARAMETERS}
            | {'/transform_listener_impl_*/get_type_description'},
        }
        for name in ('rviz2', 'foxglove_bridge')
    },
}


def expected(seen: dict[str, Uses]) -> dict[str, Uses]:
    """Return what the nodes of this project shall be allowed, from what they were seen to use."""
    found: dict[str, Uses] = {}
    for node, uses in seen.items():
        more = UNSEEN.get(node, {})
        found[node] = {kind: uses[kind] | more.get(kind, set()) for kind in KINDS}
        if node in CLIENTS:
            found[node] = {kind: _absolute(node, names) for kind, names in found[node].items()}
    return found


def enclave_of(node: str) -> str:
    """Path of a node's enclave."""
    return f'{PREFIX}{SHARED.get(node, node)}'


def written(rights: dict[str, Uses]) -> str:
    """Text of a policy file."""
    policy = ElementTree.Element('policy', version=VERSION)
    enclaves = ElementTree.SubElement(policy, 'enclaves')
    profiles: dict[str, ElementTree.Element] = {}
    for node in sorted(rights, key=lambda name: (enclave_of(name), name)):
        path = enclave_of(node)
        if path not in profiles:
            enclave = ElementTree.SubElement(enclaves, 'enclave', path=path)
            profiles[path] = ElementTree.SubElement(enclave, 'profiles')
        profile = ElementTree.SubElement(profiles[path], 'profile', ns='/', node=node)
        for kind, what in KINDS.items():
            if names := rights[node].get(kind):
                group = ElementTree.SubElement(profile, f'{what}s', {kind: 'ALLOW'})
                for name in sorted(names):
                    ElementTree.SubElement(group, what).text = name
    ElementTree.indent(policy)
    return HEAD + ElementTree.tostring(policy, encoding='unicode') + '\n'


def allowed(text: str) -> dict[str, Uses]:
    """Return what a policy file allows, by node."""
    found: dict[str, Uses] = {}
    for profile in ElementTree.fromstring(text).iter('profile'):
        uses = found.setdefault(profile.attrib['node'], {kind: set() for kind in KINDS})
        for group in profile:
            for kind, rule in group.attrib.items():
                assert rule == 'ALLOW'
                uses[kind] |= {entry.text or '' for entry in group}
    return found


def main() -> int:
    """Write the file."""
    argparse.ArgumentParser(description=__doc__).parse_args()  # --help writes nothing
    with tempfile.TemporaryDirectory() as folder:
        rights = expected(used_names(Path(folder)))
    POLICIES.parent.mkdir(exist_ok=True)
    POLICIES.write_text(written({**rights, **OTHERS}), encoding='utf-8')
    print(f'{POLICIES}: {len(rights)} nodes and {len(OTHERS)} others')
    return 0


if __name__ == '__main__':
    sys.exit(main())
