#!/usr/bin/env bash
# Installs, builds and runs all tests: the release build's, then those of the modules without libtorch under the address and
# undefined-behaviour sanitizers, then the format check.
#
#   tests/run.sh                   # everything
#   tests/run.sh --skip-setup      # without looking for missing packages
#   tests/run.sh -R 'mpi.comm'     # only tests whose name matches, as in ctest -R
#   tests/run.sh --kills 200 -R e2e.kills    # runs killed at 200 random moments instead of 20, and resumed
#
# Exits 0 only when everything that ran passed.  The last line counts the test programs.
set -euo pipefail
script_name=tests
# shellcheck source=jobs/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../jobs/common.sh"

# The version the sources are formatted with; others disagree about details.
clang_format_major=14

setup=yes
select=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    --skip-setup) setup=no ;;
    --kills)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage_error "--kills needs a number"
      export KOLO_KILLS=$2
      shift
      ;;
    -R)
      [ $# -ge 2 ] || usage_error "-R needs a regular expression"
      select=(-R "$2")
      shift
      ;;
    *) usage_error "unknown argument '$1'" ;;
  esac
  shift
done

passed=0
failed=0
skipped=0
failures=()

build() {  # build <preset> [<cmake argument>...]
  say "building preset $1 with $CMAKE_BUILD_PARALLEL_LEVEL jobs"
  cmake --preset "$@" || fail 1 "cmake failed for preset $1"
  cmake --build --preset "$1" || fail 1 "the build of preset $1 failed"
}

junit_count() { grep -m 1 -oE "^[[:space:]]*$2=\"[0-9]+" "$1" | grep -oE '[0-9]+$'; }  # junit_count <report> <attribute>

run_tests() {  # run_tests <preset> error|ignore <ctest argument>...: what it means that no test matches
  local preset=$1 none=$2 report=$root/build/$1/tests.xml status=0 ran lost left
  shift 2
  say "running the tests of preset $preset ${*@Q}"
  rm -f "$report"
  ctest --preset "$preset" -j "$cores" --output-on-failure --no-tests="$none" --output-junit "$report" "${select[@]}" "$@" ||
    status=$?
  [ "$status" = 0 ] || failures+=("tests of preset $preset")
  [ -f "$report" ] || return 0
  ran=$(junit_count "$report" tests)
  lost=$(junit_count "$report" failures)
  left=$(($(junit_count "$report" skipped) + $(junit_count "$report" disabled)))
  passed=$((passed + ran - lost - left))
  failed=$((failed + lost))
  skipped=$((skipped + left))
}

check_format() {
  local found
  if ! command -v clang-format > /dev/null; then
    say "NOTICE: the format was not checked: there is no clang-format here"
    return 0
  fi
  found=$(clang-format --version | grep -oE '[0-9]+' | head -n 1)
  if [ "$found" != "$clang_format_major" ]; then
    say "NOTICE: the format was not checked: clang-format is version $found, the sources follow $clang_format_major"
    return 0
  fi
  say "checking the format"
  find include src tests -name '*.[ch]pp' -print0 | xargs -0 clang-format --dry-run --Werror || failures+=("format")
}

[ "$setup" = no ] || "$root/jobs/setup.sh" --tests
cd -- "$root"
prepare_build
allow_root_mpi
cores=$(allowed_cores)

build release -DKOLO_TESTS=ON
run_tests release error
build asan
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
run_tests asan "$([ ${#select[@]} = 0 ] && echo error || echo ignore)" -LE mpi
# Open MPI keeps memory of plugins it has unloaded, which no suppression can name.
ASAN_OPTIONS=detect_leaks=0 run_tests asan ignore -L mpi
check_format

for failure in "${failures[@]}"; do say "FAILED: $failure"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ ${#failures[@]} = 0 ]
