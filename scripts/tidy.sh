#!/usr/bin/env bash
# clang-tidy over the plugin and the command, one process a core.
#   scripts/tidy.sh BUILD-WITH-COMPILE_COMMANDS STAMPS
# A file that passed leaves a stamp named after all its result depends on, so that a second
# run is quick. Called by check.sh. Exit status: 0 clean.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export TIDY_BUILD=$1 TIDY_STAMPS=$2
mkdir -p "$TIDY_STAMPS"
TIDY_COMMON=$(git ls-files -z --cached --others --exclude-standard .clang-tidy CMakeLists.txt '*.h' |
  xargs -0 cat | sha256sum | cut -c1-32)
export TIDY_COMMON

tidy_one() {
  local stamp complaint
  stamp=$TIDY_STAMPS/$(echo "$TIDY_COMMON" | cat - "$1" | sha256sum | cut -c1-40)
  [[ ! -e $stamp ]] || return 0
  echo "$1"
  # It counts the warnings of system headers on stderr even when all is well.
  if complaint=$(clang-tidy-14 --quiet -p "$TIDY_BUILD" "$1" 2>&1); then
    touch "$stamp"
  else
    echo "$complaint"
    return 1
  fi
}
export -f tidy_one

# shellcheck disable=SC2016
git ls-files -z 'plugin/*.cc' 'verifier/*.cc' |
  xargs -0 -r -n 1 -P "$(nproc)" bash -c 'tidy_one "$0"'
