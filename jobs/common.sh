# shellcheck shell=bash disable=SC2154
# Shared by the job scripts (source it after setting script_name): messages, and what this process may use of the machine.
# "Allowed" counts affinity masks and cgroup limits, because a container or a batch job often gets less than the machine has.

root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# Messages are matched and parsed below, so they must not be translated.
export LC_ALL=C.UTF-8

say() { printf '%s: %s\n' "$script_name" "$*"; }
fail() {  # fail <exit code> <message> [<hint>]
  printf '%s: error: %s\n' "$script_name" "$2" >&2
  [ -z "${3:-}" ] || printf '  %s\n' "$3" >&2
  exit "$1"
}
usage_error() { fail 2 "$1" "try: $0 --help"; }

# Whole CPUs of the cgroup's quota, at least 1; nothing without a quota.
cgroup_cpus() {
  local quota period
  read -r quota period 2> /dev/null < /sys/fs/cgroup/cpu.max || return 0
  [ "$quota" = max ] || echo $((quota >= period ? quota / period : 1))
}

# Physical cores this process may run on: hardware threads of one core share its floating-point units.
allowed_cores() {
  local cores quota cpu first last range siblings
  cores=$(
    for range in $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr ',' ' '); do
      first=${range%-*} last=${range#*-}
      for ((cpu = first; cpu <= last; cpu++)); do
        siblings=/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list
        cat "$siblings" 2> /dev/null || echo "$cpu"
      done
    done | sort -u | wc -l
  )
  quota=$(cgroup_cpus)
  if [ -n "$quota" ] && [ "$quota" -lt "$cores" ]; then cores=$quota; fi
  echo $((cores > 0 ? cores : 1))
}

# Compilers at once: a file that includes libtorch takes 1.5 GiB, and a machine that swaps builds slower than one that waits.
build_jobs() {
  local jobs kib limit
  jobs=$(nproc)
  kib=$(sed -n 's/^MemAvailable:[[:space:]]*\([0-9]*\).*/\1/p' /proc/meminfo)
  if read -r limit 2> /dev/null < /sys/fs/cgroup/memory.max && [ "$limit" != max ] && [ $((limit / 1024)) -lt "$kib" ]; then
    kib=$((limit / 1024))
  fi
  [ $((kib / 1572864)) -ge "$jobs" ] || jobs=$((kib / 1572864))
  echo $((jobs > 0 ? jobs : 1))
}

# Settings of a build: files of another checkout at the same path below its root hit the same cache entries.
prepare_build() {
  export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(build_jobs)}
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1
  if [ -z "${CCACHE_DIR:-}" ] && ! [ -w "${HOME:-/nonexistent}" ]; then export CCACHE_DIR=$root/build/ccache; fi
}

# Open MPI (orterun) and Open MPI 5 (prterun) refuse to start as root unless told twice.
allow_root_mpi() {
  [ "$(id -u)" = 0 ] || return 0
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
}
