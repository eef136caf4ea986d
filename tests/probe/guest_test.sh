#!/usr/bin/env bash
# The registration test and the port facts on real Soft-RoCE devices, in the guest. One argument:
# the probe_look program. Exit status 77: no guest can be had here, the reason is said.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
guest=$here/../verbs/guest.sh
look=$1

"$guest" --check || exit 77
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT

# shellcheck disable=SC2016
"$guest" --rdma two --write "$kept" --limit 200 -- bash -c '
  cd "$1"
  "$2" >healthy
  setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
    bash -c "ulimit -l 8192; exec \"\$0\"" "$2" >limited
  mount --bind /dev/null /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so && "$2" >no-provider
  umount /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so
  chmod 0 /dev/infiniband/uverbs1
  setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
    "$2" >unreadable
' - "$kept" "$look"

failed=''
holds() { # FILE LINE
  grep -qxF -- "$2" "$kept/$1" || {
    echo "guest_test: $1 does not say '$2', but:" >&2
    cat "$kept/$1" >&2
    failed=yes
  }
}
holds healthy 'rxe0 listed yes'
holds healthy 'rxe0 open 0'
holds healthy 'rxe0 reg 0'
holds healthy 'rxe0 relaxed 0'
holds healthy 'rxe0 registered 64'
holds healthy 'rxe1 registered 4'
holds healthy 'rxe0 counters known'
holds healthy 'rxe0 gid 1 ::ffff:198.51.100.1 RoCE v2'
holds healthy '- finding software-rdma'
holds limited '- finding memlock-limited'
holds no-provider 'rxe0 listed no'
holds no-provider '- finding verbs-provider-missing'
holds unreadable '- finding device-open-failed-on-some'
if grep -q memlock "$kept/healthy"; then
  echo 'guest_test: the healthy node is told of locked memory' >&2
  failed=yes
fi
[[ -z $failed ]] || exit 1
echo 'guest_test: all as it should be'
