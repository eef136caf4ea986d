#!/bin/busybox sh
# shellcheck shell=dash
# The first process of the guest that guest.sh starts: loads the modules, puts
# this machine's file system together, shapes the network and runs the command.
# Never run by hand. What it has to say goes to the console; how far it got and
# the command's exit status go to the job directory shared with guest.sh.
export PATH=/bin
off() {
  sync
  echo o >/proc/sysrq-trigger
  sleep 60
}
fail() {
  echo "guest-init: $*"
  [ ! -d /job/in ] || echo "$*" >/job/failure
  off
}
# cache=loose for what cannot change underneath us; msize is QEMU's best.
share() { # TAG WHERE OPTIONS
  mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,$3" "$1" "$2" ||
    fail "cannot mount the share $1 on $2"
}

/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
if grep -q rdmaguard.probe /proc/cmdline; then
  echo "guest-init: probe"
  off
fi
while read -r module; do
  insmod "/modules/$module" || echo "guest-init: $module did not load"
done </modules/order

share job /job rw,cache=none
share root /lower ro,cache=loose
mount -t tmpfs -o size=50% scratch /scratch
mkdir /scratch/upper /scratch/work
mount -t overlay -o lowerdir=/lower,upperdir=/scratch/upper,workdir=/scratch/work root /new ||
  fail "cannot put a writable layer over the root file system"
mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount -t devtmpfs dev /new/dev
mkdir -p /new/dev/shm /new/dev/pts
mount -t tmpfs shm /new/dev/shm
mount -t devpts pts /new/dev/pts
mount -t tmpfs run /new/run
ln -sf /proc/self/fd /new/dev/fd
ln -sf fd/0 /new/dev/stdin
ln -sf fd/1 /new/dev/stdout
ln -sf fd/2 /new/dev/stderr
while read -r tag where; do share "$tag" "/new$where" rw,cache=mmap; done </job/in/shares
mkdir -p /new/run/guest
cp /job/in/* /new/run/guest/

ulimit -l unlimited
hostname rdmaguard-guest
ip link set lo up
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
chroot /new /bin/bash /run/guest/setup >/job/setup.log 2>&1 ||
  fail "the network set-up failed: $(tail -n 1 /job/setup.log)"

# Through pipes: a port can be opened once, and a command may well open
# /dev/stderr again.
set -- /dev/vport*p1
port=${1%1}
[ -c "${port}2" ] || fail "the output ports are missing"
mkfifo /out /err
cat </out >"${port}1" &
out=$!
cat </err >"${port}2" &
err=$!
cut -d' ' -f1 /proc/uptime >/job/ready
chroot /new /bin/bash /run/guest/command </dev/null >/out 2>/err
status=$?
# A process the command left behind may hold the pipes open: not for ever.
(sleep 3 && kill "$out" "$err") 2>/dev/null &
wait "$out" "$err" 2>/dev/null
echo "$status" >/job/status
off
