#!/usr/bin/env bash
# Installs the Debian packages that one part of the project needs and this machine lacks.
# Called by demo.sh and check.sh, and by hand: scripts/setup.sh plugin|demo|check
#
# Nothing missing: nothing is done, no root is needed, and it costs milliseconds.
# Exit status: 0 all that is required is here; 1 something required could not be had.
set -euo pipefail

group=${1:-check}
case $group in
  plugin | demo | check) ;;
  *)
    echo "usage: scripts/setup.sh plugin|demo|check" >&2
    exit 64
    ;;
esac

# package  |  group  |  what shows that it is here (cmd:NAME, py:MODULE or a file pattern)  |  what for
# A group includes those above it. "guest" pieces are wanted by demo and check but not
# required: without them the demonstration is the dry run.
table='
g++               | plugin | cmd:g++                              | compiles everything
make              | plugin | cmd:make                             | builds the plugin
libspdlog-dev     | plugin | /usr/include/spdlog/spdlog.h         | log lines (header-only)
libfmt-dev        | plugin | /usr/include/fmt/format.h            | log lines (header-only)
libcli11-dev      | plugin | /usr/include/CLI/CLI.hpp             | command line of rdmaguard
nlohmann-json3-dev| plugin | /usr/include/nlohmann/json.hpp       | JSON lines
libyaml-cpp-dev   | plugin | /usr/include/yaml-cpp/yaml.h         | pod specs, in the command alone
zlib1g-dev        | plugin | /usr/include/zlib.h                  | .gz logs, in the command alone
libzstd-dev       | plugin | /usr/include/zstd.h                  | .zst logs, in the command alone
cmake             | demo   | cmd:cmake                            | builds the demonstration job
ninja-build       | demo   | cmd:ninja                            | builds the demonstration job
python3           | demo   | cmd:python3                          | unpacks libnccl
python3-pip       | demo   | pip:                                 | downloads libnccl
ca-certificates   | demo   | /etc/ssl/certs/ca-certificates.crt   | downloads libnccl
libgtest-dev      | check  | /usr/include/gtest/gtest.h           | unit tests
libgmock-dev      | check  | /usr/include/gmock/gmock.h           | unit tests
libbenchmark-dev  | check  | /usr/include/benchmark/benchmark.h   | benchmarks
binutils          | check  | cmd:readelf                          | checks the exported symbols
gdb               | check  | cmd:gdb                              | reads layouts out of the real libnccl
clang-14          | check  | cmd:clang++-14                       | second compiler
clang-format-14   | check  | cmd:clang-format-14                  | format check
clang-tidy-14     | check  | cmd:clang-tidy-14                    | static analysis
libclang-rt-14-dev| check  | /usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a | fuzzing
python3-jsonschema| check  | py:jsonschema                        | checks the JSON against its schema
python3-yaml      | check  | py:yaml                              | reads the truths of the fixtures
zstd              | check  | cmd:zstd                             | packs what the tests unpack
shellcheck        | check  | cmd:shellcheck                       | checks the scripts
git               | check  | cmd:git                              | lists the files to check
qemu-system-x86   | guest  | cmd:qemu-system-x86_64               | the guest with a software RDMA device
busybox-static    | guest  | static:busybox                       | the guest boots with it
cpio              | guest  | cmd:cpio                             | packs the guest
kmod              | guest  | cmd:depmod                           | picks the guest kernel'"'"'s modules
xz-utils          | guest  | cmd:xz                               | unpacks the guest kernel
iproute2          | guest  | cmd:rdma                             | makes the software RDMA device
ibverbs-providers | guest  | /usr/lib/*/libibverbs/librxe-*.so    | drives the software RDMA device
'

# Where Ubuntu differs. Untested: the project is built and checked on Debian 12.
ubuntu_name() {
  case $1 in
    g++) [[ ${VERSION_ID:-} == 22.04 ]] && echo g++-12 || echo g++ ;;
    *) echo "$1" ;;
  esac
}

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
ID=unknown VERSION_ID='' PRETTY_NAME='this system'
# shellcheck source=/dev/null
[[ ! -r /etc/os-release ]] || . /etc/os-release

have() {
  case $1 in
    cmd:*) command -v "${1#cmd:}" >/dev/null ;;
    pip:) python3 -m pip --version >/dev/null 2>&1 ;;
    py:*) python3 -c "import ${1#py:}" 2>/dev/null ;;
    # The guest has no C library: a dynamically linked one of the same name will not do.
    static:*)
      local path
      path=$(command -v "${1#static:}") && ! head -c 4096 "$path" | grep -aq ld-linux
      ;;
    *) compgen -G "$1" >/dev/null ;;
  esac
}

wanted() {
  case $group/$1 in
    */plugin | demo/demo | demo/guest | check/*) return 0 ;;
    *) return 1 ;;
  esac
}

required=() guest=() reasons=''
while IFS='|' read -r package part probe purpose; do
  read -r package <<<"$package"
  read -r part <<<"$part"
  read -r probe <<<"$probe"
  if [[ -z $package ]] || ! wanted "$part" || have "$probe"; then continue; fi
  [[ $ID != ubuntu ]] || package=$(ubuntu_name "$package")
  reasons+=$(printf '  %-19s%s' "$package" "$purpose")$'\n'
  if [[ $part == guest ]]; then guest+=("$package"); else required+=("$package"); fi
done <<<"$table"

as_root=()
can_install() {
  command -v apt-get >/dev/null || return 1
  ((EUID != 0)) || return 0
  command -v sudo >/dev/null || return 1
  as_root=(sudo)
}

# apt's lists are fetched only when they do not know a package that is wanted.
lists_fresh=''
refresh_lists() {
  [[ -z $lists_fresh ]] || return 0
  lists_fresh=yes
  echo "setup: reading the package lists (apt-get update)"
  "${as_root[@]}" apt-get update -qq || echo "setup: apt-get update failed; going on with the lists at hand" >&2
}
install_packages() {
  local package
  for package in "$@"; do
    if [[ -z $(apt-cache madison "$package" 2>/dev/null) ]]; then refresh_lists; fi
  done
  local try=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq
    --no-install-recommends -o Dpkg::Use-Pty=0)
  "${try[@]}" "$@" >"$log" 2>&1 && return 0
  # Lists older than the archive name files that are gone.
  refresh_lists
  "${try[@]}" "$@" >"$log" 2>&1
}

if ((${#required[@]} + ${#guest[@]})); then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  printf 'setup: missing here, of what "%s" needs:\n%s' "$group" "$reasons"
  case $ID in
    debian) ;;
    ubuntu) echo "setup: $PRETTY_NAME: package names as on Ubuntu; untested there" ;;
    *) echo "setup: $PRETTY_NAME: untested there" ;;
  esac
  if ! can_install; then
    why="neither root nor sudo here"
    command -v apt-get >/dev/null || why="no apt-get here"
    if ((${#required[@]})); then
      echo "setup: cannot install ($why). As root: apt-get install ${required[*]} ${guest[*]}" >&2
      exit 1
    fi
  else
    if ((${#required[@]})); then
      echo "setup: installing ${required[*]}"
      install_packages "${required[@]}" || {
        tail -n 20 "$log" >&2
        echo "setup: apt-get could not install: ${required[*]}" >&2
        exit 1
      }
    fi
    if ((${#guest[@]})); then
      echo "setup: installing ${guest[*]}"
      if install_packages "${guest[@]}"; then guest=(); else tail -n 5 "$log" >&2; fi
    fi
  fi
  if ((${#guest[@]})); then
    echo "setup: no guest can be had here (missing: ${guest[*]}):" \
      "the demonstration will be the dry run, and tests in the guest are left out"
  fi
fi
