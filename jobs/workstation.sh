#!/usr/bin/env bash
# Sets kolo up, builds it and runs a training deck on all cores of this machine.
#
#   jobs/workstation.sh                              # the main job: input/fashion_mnist_cnn.ini
#   jobs/workstation.sh input/synthetic_smoke.ini -n 2
#   jobs/workstation.sh deck.ini -- --set train.epochs=2
#
#   deck               an INI file, looked for here and then in the checkout
#   -n ranks           how many processes (default: one per physical core, at most 16; the rest become threads)
#   --run-dir DIR      where results go (default: runs/<deck>-<date-time> in the checkout)
#   -- ARGUMENTS       passed to kolo as they are
#
# The exit code is kolo's (0 finished, 75 stopped early and resumable, see kolo --help); 2 for wrong arguments.
set -euo pipefail
script_name=workstation
# shellcheck source=jobs/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

deck=
ranks=
run_dir=
kolo_arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -n | --run-dir)
      [ $# -ge 2 ] || usage_error "$1 needs a value"
      if [ "$1" = -n ]; then ranks=$2; else run_dir=$2; fi
      shift 2
      ;;
    --)
      shift
      kolo_arguments=("$@")
      break
      ;;
    -*) usage_error "unknown option '$1'" ;;
    *)
      [ -z "$deck" ] || usage_error "more than one deck: '$deck' and '$1'"
      deck=$1
      shift
      ;;
  esac
done

cores=$(allowed_cores)
if [ -z "$ranks" ]; then
  # Not one rank a core on a big machine: every rank's share of the batch gets small.  All ranks get as many cores.
  threads=$(((cores + 15) / 16))
  ranks=$((cores / threads))
fi
[[ $ranks =~ ^[1-9][0-9]{0,3}$ ]] || usage_error "-n is the number of ranks, 1 to 9999, not '$ranks'"
deck=${deck:-$root/input/fashion_mnist_cnn.ini}
[ -f "$deck" ] || [ ! -f "$root/$deck" ] || deck=$root/$deck
[ -f "$deck" ] || usage_error "no deck '$deck' here or in $root"
deck=$(realpath -- "$deck")
run_dir=$(realpath -m -- "${run_dir:-$root/runs/$(basename -- "$deck" .ini)-$(date +%Y%m%d-%H%M%S)}")

"$root/jobs/setup.sh"

prepare_build
allow_root_mpi
say "building kolo in $root/build/release (several minutes the first time)"
configure=(cmake --preset release)
# Tests need packages of their own; a build folder that has them keeps them.
[ -f "$root/build/release/CMakeCache.txt" ] || configure+=(-DKOLO_TESTS=OFF)
(
  cd -- "$root"
  log=build/workstation.log
  mkdir -p build
  "${configure[@]}" > "$log" 2>&1 ||
    fail 1 "cmake failed: $(grep -A 2 '^CMake Error' "$log" | tr -s ' \n' ' ')" "the whole output is in $root/$log"
  cmake --build --preset release --target kolo || fail 1 "the build failed"
)

# Started here, not in the checkout: relative paths in a deck begin at the current directory.
launch=(mpirun -n "$ranks")
if [ "$ranks" -gt "$cores" ]; then
  say "$ranks ranks on $cores cores: they take turns"
  launch+=(--oversubscribe)
  export OMPI_MCA_mpi_yield_when_idle=1
fi
launch+=("$root/build/release/kolo" --input "$deck" --run-dir "$run_dir" "${kolo_arguments[@]}")
say "$(printf '%q ' "${launch[@]}")"
code=0
"${launch[@]}" || code=$?

[ ! -d "$run_dir" ] || say "results: $run_dir (summary.json, metrics.csv, checkpoints/best.h5)"
exit "$code"
