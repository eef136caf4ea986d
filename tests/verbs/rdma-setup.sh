#!/bin/sh
# Puts the guest's network and RDMA devices into one of a few named states. Runs
# as root inside the guest (guest.sh calls it at boot; a test or the
# demonstration calls it again to change the state between two runs).
#
#   rdma-setup.sh roce   rxe0 on roce0, port ACTIVE                 (the healthy node)
#   rdma-setup.sh two    rxe0 on roce0 and rxe1 on roce1, both ACTIVE
#   rdma-setup.sh four   rxe0 to rxe3 on roce0 to roce3, all ACTIVE but rxe2
#   rdma-setup.sh down   rxe0 on roce0, roce0 set down: port not ACTIVE
#   rdma-setup.sh none   the network only: no RDMA device at all
#
# eth0 (192.0.2.1/24) is there and up in every state: it plays the management
# network that NCCL's bootstrap and its Socket transport use.
set -eu

interface() {
  ip link show "$1" >/dev/null 2>&1 || ip link add "$1" type dummy
  # Jumbo frames, as a RoCE fabric has them: they make the RDMA MTU 4096.
  ip link set "$1" mtu 9000 up
  ip addr replace "$2" dev "$1"
}

rxe() { # DEVICE INTERFACE
  [ -e "/sys/class/infiniband/$1" ] || rdma link add "$1" type rxe netdev "$2"
}

gone() { # DEVICE
  [ ! -e "/sys/class/infiniband/$1" ] || rdma link delete "$1"
}

# A port follows its interface asynchronously; whoever asked wants it settled.
port() { # DEVICE STATE
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep -q "$2" "/sys/class/infiniband/$1/ports/1/state" && return
    sleep 0.1
  done
  echo "rdma-setup: $1 did not become $2: $(cat "/sys/class/infiniband/$1/ports/1/state")" >&2
  exit 1
}

state=${1:-}
case $state in roce | two | four | down | none) ;; *)
  echo "usage: rdma-setup.sh roce|two|four|down|none" >&2
  exit 64
  ;;
esac

interface eth0 192.0.2.1/24
interface roce0 198.51.100.1/24
# How many further devices: roce1 and so on, each in a network of its own.
case $state in two) further=1 ;; four) further=3 ;; *) further=0 ;; esac
for n in 1 2 3; do
  if [ "$n" -le "$further" ]; then
    interface "roce$n" "203.0.113.$((n * 64 - 63))/26"
  else
    gone "rxe$n"
    ip link delete "roce$n" 2>/dev/null || :
  fi
done
case $state in
  none) gone rxe0 ;;
  roce) rxe rxe0 roce0 && port rxe0 ACTIVE ;;
  two)
    rxe rxe0 roce0 && port rxe0 ACTIVE
    rxe rxe1 roce1 && port rxe1 ACTIVE
    ;;
  four)
    for n in 0 1 2 3; do rxe "rxe$n" "roce$n"; done
    ip link set roce2 down
    for n in 0 1 3; do port "rxe$n" ACTIVE; done
    port rxe2 DOWN
    ;;
  down)
    rxe rxe0 roce0
    ip link set roce0 down
    port rxe0 DOWN
    ;;
esac
