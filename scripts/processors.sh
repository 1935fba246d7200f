#!/usr/bin/env bash
# Tests with the kernels of other processor types, and with one and four threads; prints a table.
# OpenBLAS takes no more threads than there are processors: the table shows how many it took.
#
# scripts/processors.sh [ARGUMENT of pytest ...]      all tests where none is named
# TYPES="oldest avx2" scripts/processors.sh ...       only these types
#
# The same processor runs all of them: OpenBLAS and NumPy are told which of their kernels to take,
# LLVM for which type it compiles. Only types of which this processor has every feature are run.
set -euo pipefail

# name; what the processor must have; OpenBLAS; LLVM; what NumPy shall not use
ALL_TYPES=(
  "native||||"
  "oldest|sse4_2|Nehalem|nehalem|X86_V3 AVX AVX2 F16C FMA3 AVX512F AVX512CD AVX512_SKX AVX512_ICL AVX512_SPR X86_V4"
  "avx|avx|Sandybridge|sandybridge|X86_V3 AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_ICL AVX512_SPR X86_V4"
  "avx2|avx2 fma|Haswell|haswell|AVX512F AVX512CD AVX512_SKX AVX512_ICL AVX512_SPR X86_V4"
  "avx512|avx512f avx512bw avx512dq avx512vl|SkylakeX|skylake-avx512|"
)

has_features() {
  local feature flags=" $(grep -m 1 '^flags' /proc/cpuinfo) "
  for feature in $1; do
    case "$flags" in *" $feature "*) ;; *) return 1 ;; esac
  done
}

# NumPy warns of each feature that it was not built with or that its baseline includes.
known_to_numpy() {
  python - "$@" <<'P'
import sys
from contextlib import suppress

known = []
with suppress(ImportError):
    from numpy._core._multiarray_umath import __cpu_baseline__, __cpu_dispatch__

    known = [name for name in __cpu_dispatch__ if name not in __cpu_baseline__]
print(' '.join(name for name in sys.argv[1:] if name in known))
P
}

# What is really in use, after the variables are set: a variable that is ignored is seen here.
kernels_in_use() {
  python - <<'P'
from contextlib import suppress

import numpy as np
import scipy.linalg
from numba.core.config import CPU_NAME
from threadpoolctl import threadpool_info

np.linalg.norm(scipy.linalg.inv(np.eye(3)))
best = ['unknown']
blas = {(each['architecture'], each['num_threads']) for each in threadpool_info() if 'architecture' in each}
with suppress(ImportError):
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    best = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)][-1:] or ['baseline']
text = ' '.join(f'OpenBLAS {kind} x{threads}' for kind, threads in sorted(blas))
print(f'{text}, NumPy {best[0]}, LLVM {CPU_NAME or "native"}')
P
}

main() {
  local entry name needs blas llvm without threads status started used failures=0
  local folder="${PKM_ROOT:-.}/.build/processors"
  local rows=()
  mkdir -p "$folder"
  for entry in "${ALL_TYPES[@]}"; do
    IFS='|' read -r name needs blas llvm without <<<"$entry"
    case " ${TYPES:-$name} " in *" $name "*) ;; *) continue ;; esac
    if ! has_features "$needs"; then
      rows+=("$name|-|not on this processor||")
      continue
    fi
    for threads in ${THREADS:-1 4}; do
      started=$SECONDS
      status=passed
      (
        export OPENBLAS_NUM_THREADS=$threads OMP_NUM_THREADS=$threads NUMBA_NUM_THREADS=$threads
        if [ -n "$blas" ]; then export OPENBLAS_CORETYPE="$blas"; fi
        # names alone: Numba then takes the features of that type
        if [ -n "$llvm" ]; then export NUMBA_CPU_NAME="$llvm" NUMBA_CPU_FEATURES=""; fi
        without="$(known_to_numpy $without)"
        if [ -n "$without" ]; then export NPY_DISABLE_CPU_FEATURES="$without"; fi
        # compiled code of one type must not serve another
        export NUMBA_CACHE_DIR="$folder/$name" XDG_CACHE_HOME="$folder/$name"
        kernels_in_use >"$folder/kernels"
        python -m pytest -n "${PROCESSES:-auto}" --maxprocesses 8 --dist loadfile --no-loadscope-reorder "$@"
      ) >"$folder/$name-$threads.log" 2>&1 || { status=FAILED; failures=$((failures + 1)); }
      used="$(cat "$folder/kernels" 2>/dev/null || true)"
      rows+=("$name|$threads|$status|$((SECONDS - started)) s|$(tail -n 1 "$folder/$name-$threads.log")  [$used]")
      echo "${rows[-1]}" | tr '|' '\t'
    done
  done
  echo
  printf '%s\n' "type|threads|tests|time|last line of the log and kernels in use" "${rows[@]}" |
    column -t -s '|' 2>/dev/null || printf '%s\n' "${rows[@]}"
  echo "logs: $folder"
  [ "$failures" = 0 ]
}

main "$@"
