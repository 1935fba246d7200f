"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from typing import Any

from pkm_bringup.versions import installed

PACKAGES = ('numpy', 'numba', 'mujoco', 'rclpy', 'pin')


def machine_facts() -> dict[str, Any]:
    """Return processor, usable cores, load average and versions."""
    return {
        'processor': _processor(),
        'cores': len(os.sched_getaffinity(0)),
        'load': load_average(),
        'kernel': platform.release(),
        'python': platform.python_version(),
        'versions': installed(PACKAGES),
    }


def load_average() -> float:
    """Processes that ran or waited for a core, mean of the last minute."""
    return os.getloadavg()[0]


def _processor() -> str:
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            names = [line.partition(':')[2].strip() for line in file if 'model name' in line]
    except OSError:
        names = []
    return names[0] if names else platform.machine()
