"""Settings of all tests."""

from __future__ import annotations

import os

from ros_domain import session_domain

# Processes of pytest-xdist run tests of nodes side by side.
if 'PYTEST_XDIST_WORKER' in os.environ:
    os.environ['ROS_DOMAIN_ID'] = str(session_domain())
