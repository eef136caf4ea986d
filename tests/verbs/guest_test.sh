#!/usr/bin/env bash
# Holds guest.sh to what it promises. Exit status 77: no guest can be had here, the reason is said.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
guest=$here/guest.sh

"$guest" --check || exit 77
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
cd "$kept"

check() { # WHAT WANTED GOT
  [[ $2 == "$3" ]] || {
    echo "guest_test: $1: wanted '$2', got '$3'" >&2
    exit 1
  }
}

# One boot for all that needs one. The default device state, and everything the usage says.
status=0
# shellcheck disable=SC2016
PASSED='on' "$guest" --write "$kept" --env 'WORDS=two words, "quoted"' --env PASSED -- bash -c '
  echo "$WORDS|$PASSED|$PWD|$(cat /sys/class/infiniband/rxe0/ports/1/state)"
  echo to stderr >/dev/stderr
  echo kept >file
  echo lost >/etc/rdmaguard-guest-test
  sh "$0"/rdma-setup.sh two && sh "$0"/rdma-setup.sh down && sh "$0"/rdma-setup.sh none
  ls /sys/class/infiniband | wc -l
  exit 7' "$here" >out 2>err || status=$?
check 'exit status' 7 "$status"
check 'standard output' "two words, \"quoted\"|on|$kept|4: ACTIVE 0" "$(tr '\n' ' ' <out | sed 's/ $//')"
check 'standard error' 'to stderr' "$(cat err)"
check 'what was written below --write' kept "$(cat file)"
[[ ! -e /etc/rdmaguard-guest-test ]] || check 'the file system outside --write' untouched written

status=0
"$guest" --limit 1 -- true 2>err || status=$?
check 'exit status past the limit' 124 "$status"
check 'the limit is named' 1 "$(grep -c 'limit of 1 s' err)"

status=0
echo 'false' >broken
"$guest" --setup broken -- true 2>err || status=$?
check 'exit status when the set-up fails' 125 "$status"
check 'the failed set-up is named' 1 "$(grep -c '^guest: failed: the network set-up failed' err)"

status=0
"$guest" --no-such-option 2>err || status=$?
check 'exit status for a wrong option' 64 "$status"
echo "guest_test: all as promised"
