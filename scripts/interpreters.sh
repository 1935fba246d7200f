#!/usr/bin/env bash
# Set-up and the tests of the inner loop with other interpreters; prints a line for each.
#
# scripts/interpreters.sh [PYTHON[+numpy1] ...]
#
# Each gets a clone of the last commit with an environment of its own. `+numpy1` puts NumPy 1.26
# into it, which is that of ROS 2 Jazzy on Ubuntu 24.04.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

DEFAULT=(python3.10 python3.12 python3.12+numpy1 python3.13)

try_one() {
  local python=$1 folder=$2 variant=$3
  rm -rf "$folder"
  git clone -q . "$folder"
  PYTHON="$python" make -C "$folder" setup
  if [ "$variant" = numpy1 ]; then
    "$folder/.venv/bin/python" -m pip install -q -r "$folder/requirements/runtime-numpy1.txt"
  fi
  make -C "$folder" quick
}

main() {
  local entry status log failures=0
  unset ARGS MAKEFLAGS MAKEOVERRIDES # those of the make that called this
  mkdir -p .build/interpreters
  [ $# -gt 0 ] || set -- "${DEFAULT[@]}"
  for entry in "$@"; do
    log=".build/interpreters/${entry//\//_}.log"
    status=passed
    (try_one "${entry%+*}" "${log%.log}" "${entry##*+}") >"$log" 2>&1 ||
      { status=FAILED; failures=$((failures + 1)); }
    printf '%s\t%s\t%s\n' "$entry" "$status" "$(grep -E '(passed|failed).* in ' "$log" | tail -n 1)"
  done
  echo "logs: .build/interpreters"
  [ "$failures" = 0 ]
}

main "$@"
