#!/usr/bin/env bash
# Installs a build of Makefile.nccl into a DESTDIR, tries what landed there, takes it out again.
#   install.sh BUILD      Called by scripts/check.sh. Exit status: 0 all as it should be.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT
there=$dest/opt/rdmaguard
make=(make -f Makefile.nccl "BUILD=$1" "DESTDIR=$dest" PREFIX=/opt/rdmaguard)

"${make[@]}" install
tests/symbols/symbols.sh all "$there/lib/librdmaguard.so"
"$there/bin/rdmaguard" --version
"$there/bin/rdmaguard" env >/dev/null
[[ -s $there/share/doc/rdmaguard/LICENSE ]]

"${make[@]}" uninstall
left=$(find "$dest" ! -type d)
if [[ -n $left ]]; then
  echo "install: uninstall left behind: $left" >&2
  exit 1
fi
