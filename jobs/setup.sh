#!/usr/bin/env bash
# Installs what kolo is built from: packages of Debian or Ubuntu, and libtorch (PyPI's wheel of torch) into .deps/.
#
#   jobs/setup.sh            what a build and the main job need
#   jobs/setup.sh --tests    and what the tests need
#   jobs/setup.sh --cuda     libtorch with all its CUDA libraries (4.7 GB instead of 1.2; the CUDA toolkit is yours to install)
#
# Debian 12 or newer, Ubuntu 24.04 or newer; as root, or with sudo.  Does nothing where all is present.
set -euo pipefail
script_name=setup
# shellcheck source=jobs/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

torch_version=2.11.0
base_packages=(ca-certificates ccache cmake dataset-fashion-mnist g++ hdf5-tools libboost-program-options-dev libfmt-dev
  libhdf5-dev libhwloc-dev libopenmpi-dev libspdlog-dev libxxhash-dev ninja-build nlohmann-json3-dev openmpi-bin pkgconf
  python3 python3-pip zlib1g-dev)
test_packages=(libbenchmark-dev libgmock-dev libgtest-dev python3-h5py)

deps=$root/.deps
staging=$deps/.staging

# ---- packages

missing_packages() {  # missing_packages <package>...: one a line
  local installed package
  # dpkg-query fails when it knows one of the names not at all; what it prints of the others still counts.
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2> /dev/null || true)
  for package in "$@"; do
    grep -qx "$package installed" <<< "$installed" || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -q -o DPkg::Lock::Timeout=600 "$@" >> "$log" 2>&1
}

last_error() { grep -E "$1" "$2" | tail -n 1 || true; }

install_packages() {
  local missing log status=0
  if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    fail 1 "this system has no apt-get: packages can be installed on Debian and Ubuntu only" \
      "install the equivalents of: $*"
  fi
  readarray -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] && ! { command -v sudo > /dev/null && as_root true 2> /dev/null; }; then
    fail 1 "cannot install packages: neither root nor allowed to use sudo" "ask for: apt-get install ${missing[*]}"
  fi
  say "installing packages: ${missing[*]}"
  log=$(mktemp)
  apt_get update || status=$?
  # Without the recommended packages: python3-pip alone would bring a second compiler set-up.
  apt_get install -y --no-install-recommends "${missing[@]}" || {
    local why hint="the whole output is in $log"
    why=$(last_error '^E: |error: ' "$log")
    if [ "$status" != 0 ] || grep -qE '^(W|E): Failed to fetch|Temporary failure resolving' "$log"; then
      hint="the package servers could not all be reached: is there a network?  $hint"
    elif [[ $why == *"Unable to locate"* ]]; then
      hint="needs Debian 12, or Ubuntu 24.04 with universe, or newer; $hint"
    fi
    fail 1 "apt-get install failed: ${why:-no reason given}" "$hint"
  }
  rm -f "$log"
}

# ---- libtorch

# Any Python will do that pip has a wheel for: libtorch does not use it.
find_python() {
  local python version found=
  for python in /usr/bin/python3 python3; do
    command -v "$python" > /dev/null || continue
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null || echo "that does not start")
    found+="${found:+, }$python $version"
    if "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' 2> /dev/null &&
      "$python" -m pip --version > /dev/null 2>&1; then
      echo "$python"
      return 0
    fi
  done
  fail 1 "found no Python 3.10 to 3.14 with pip, which torch $torch_version needs (found: ${found:-none})" \
    "or set KOLO_LIBTORCH_ROOT to a libtorch of your own when configuring"
}

need_space() {  # need_space <GiB>
  local free
  free=$(($(df -Pk "$deps" | awk 'NR == 2 { print $4 }') / 1048576))
  [ "$free" -ge "$1" ] || fail 1 "not enough space for libtorch in $deps: $free GiB free, $1 GiB needed"
}

pip_install() {  # pip_install <target folder> <pip arguments>
  local target=$1
  shift
  # Debian's pip refuses to install outside a virtual environment, even with --target, which touches nothing of the
  # system; pips too old to know the setting ignore it.
  # TMPDIR: /tmp may be small, and from a folder on the same disk the files are moved, not copied.
  PIP_BREAK_SYSTEM_PACKAGES=1 PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore TMPDIR=$staging/tmp "$python" -m pip install --no-cache-dir --no-compile \
    --progress-bar off --only-binary :all: --target "$target" "$@"
}

stamp_satisfies() {  # a CUDA wheel serves a CPU build as well
  local stamp
  stamp=$(cat "$deps/.stamp" 2> /dev/null || true)
  [ -d "$deps/torch/lib" ] && { [ "$stamp" = "torch $torch_version $1" ] || [ "$stamp" = "torch $torch_version cuda" ]; }
}

# Everything is unpacked aside; the stamp goes first and comes back last, so a folder with a stamp is whole.
install_libtorch() {  # install_libtorch cpu|cuda
  local variant=$1 python why hint file wheels=("torch==$torch_version")
  mkdir -p "$deps" || fail 1 "cannot make $deps"
  exec 9> "$deps/.lock"
  flock -n 9 || { say "waiting for another set-up of this checkout" && flock 9; }
  ! stamp_satisfies "$variant" || return 0
  python=$(find_python)
  if [ "$variant" = cuda ]; then
    need_space 10
    say "installing libtorch $torch_version with CUDA into $deps (downloads 3 GB, takes 4.7 GB)"
  else
    need_space 3
    say "installing libtorch $torch_version into $deps (downloads 0.6 GB, takes 1.2 GB)"
    # The two libraries that libtorch_cpu of this wheel is linked to.
    wheels=(--no-deps "${wheels[@]}" "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cupti==13.0.*")
  fi
  rm -rf "$staging"
  mkdir -p "$staging/tmp"
  pip_install "$staging/wheel" "${wheels[@]}" > "$staging/log" 2>&1 || {
    why=$(last_error '^ERROR|No space left' "$staging/log")
    hint="or set KOLO_LIBTORCH_ROOT to a libtorch of your own when configuring; the whole output is in $staging/log"
    if grep -qE 'from versions: none|NewConnectionError|ConnectTimeout|ProxyError|SSLError' "$staging/log"; then
      hint="the package index could not be reached: is there a network?  $hint"
    fi
    fail 1 "pip could not install torch $torch_version: ${why#ERROR: }" "$hint"
  }
  for file in lib/libtorch_cpu.so include/ATen/core/Tensor.h; do
    [ -f "$staging/wheel/torch/$file" ] || fail 1 "pip's torch $torch_version has no $file (looked in $staging/wheel/torch)"
  done
  rm -f "$deps/.stamp"
  find "$deps" -mindepth 1 -maxdepth 1 ! -name .staging ! -name .lock -exec rm -rf {} +
  find "$staging/wheel" -mindepth 1 -maxdepth 1 -exec mv -t "$deps" {} +
  rm -rf "$staging"
  echo "torch $torch_version $variant" > "$deps/.stamp"
}

# ---- main

packages=("${base_packages[@]}")
variant=cpu
for argument in "$@"; do
  case $argument in
    --tests) packages+=("${test_packages[@]}") ;;
    --cuda) variant=cuda ;;
    -h | --help)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) usage_error "unknown argument '$argument'" ;;
  esac
done

install_packages "${packages[@]}"
stamp_satisfies "$variant" || install_libtorch "$variant"
say "all is present"
