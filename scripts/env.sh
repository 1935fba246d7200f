# Environment of every make target; source it from bash (`. scripts/env.sh`).
#
# Keeps logs, caches and temporary files inside the checkout and, where the user has not chosen,
# gives each run a ROS domain of its own. Variables that are already set are left alone.
# shellcheck shell=bash

PKM_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export PKM_ROOT

# A ROS 2 outside this checkout on AMENT_PREFIX_PATH means that a ROS 2 was sourced.
pkm_find_ros() {
  local prefix
  local IFS=:
  for prefix in ${AMENT_PREFIX_PATH:-}; do
    case "$prefix" in "$PKM_ROOT"/*) continue ;; esac
    if [ -d "$prefix/share/rcl_interfaces" ]; then
      return 0
    fi
  done
  return 1
}

if pkm_find_ros; then
  PKM_ROS=sourced
else
  PKM_ROS=wheels
  # Left over when started from a Python of another wheel environment: its libraries would be
  # loaded here.
  if [ -n "${_ROS_WHEELS_BOOTSTRAP_COMPLETE:-}" ]; then
    unset _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
  fi
fi
export PKM_ROS

export COLCON_HOME="$PKM_ROOT/.build/colcon"
export TMPDIR="$PKM_ROOT/.build/tmp"
mkdir -p "$TMPDIR"

# Called by the targets that run something, after the set-up.
pkm_runtime_environment() {
  export ROS_LOG_DIR="${ROS_LOG_DIR:-$PKM_ROOT/log/ros}"
  export MPLCONFIGDIR="${MPLCONFIGDIR:-$PKM_ROOT/.build/matplotlib}"
  export MPLBACKEND="${MPLBACKEND:-Agg}"
  export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$PKM_ROOT/.build/cache}"
  export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"
  export ROS_DOMAIN_ID="${ROS_DOMAIN_ID:-$((RANDOM % 100 + 1))}"
  mkdir -p "$ROS_LOG_DIR" "$MPLCONFIGDIR" "$XDG_CACHE_HOME"
  if [ "$PKM_ROS" = sourced ]; then
    set +u
    # shellcheck disable=SC1091
    . "$PKM_ROOT/install/setup.bash"
    set -u
  else
    export AMENT_PREFIX_PATH="$PKM_ROOT/.venv"
  fi
  export PATH="$PKM_ROOT/.venv/bin:$PATH"
}
