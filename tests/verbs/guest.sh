#!/usr/bin/env bash
# Runs one command on real kernel RDMA, on any Linux machine: in a throw-away
# virtual machine that has Soft-RoCE devices. No RDMA hardware, no root, no KVM
# (used where /dev/kvm can be opened). For tests and the demonstration.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: guest.sh [OPTION...] [--] COMMAND [ARG...]
       guest.sh --check | --prepare

The guest's root is this machine's file system, read-only, under a writable
layer that dies with it: COMMAND finds programs, libraries and data where they
are here and starts in the current directory as root. Its output is ours.

  --rdma STATE     roce (default), two, down, none: see rdma-setup.sh
  --setup FILE     bash commands, run as root, that shape the network instead
  --write DIR      what is written below DIR is kept (repeatable)
  --env NAME[=V]   set NAME for COMMAND, or pass ours on (repeatable)
  --limit SECONDS  for the whole guest, default 120
  --memory MIB     default 2048
  --cpus N         default 2
  --tcg            emulate even where KVM could be used
  --console FILE   keep the kernel's console there
  --verbose        say when the guest was ready and what it cost
  --check          only say whether a guest can be had here, and why not
  --prepare        only fetch and unpack the kernel

Exit status: COMMAND's; 64 for a wrong option, 124 past the limit, 125 if the
guest failed or cannot be had. The kernel is the distribution's, fetched with
'apt-get download' and unpacked, never installed, below
${XDG_CACHE_HOME:-~/.cache}/rdmaguard/guest.
USAGE
}

say() { echo "guest: $*" >&2; }
die() {
  say "$*"
  exit 125
}
wrong() {
  say "$* (guest.sh --help)"
  exit 64
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/rdmaguard/guest
# Counted up when what prepare() leaves in the cache changes.
recipe=1

# Everything the guest needs, in load order; a name in () may be absent, as some
# kernels have it built into another module or not at all.
modules='virtio_pci virtio_console 9pnet_virtio 9p overlay dummy veth
         (crypto-crc32) ib_uverbs rdma_ucm (ib_umad) rdma_rxe'

rdma='roce' setup='' limit=120 memory=2048 cpus=2 tcg='' console='' verbose='' mode=run
writable=() environment=()
while (($#)); do
  case $1 in
    --rdma | --setup | --write | --env | --limit | --memory | --cpus | --console)
      (($# > 1)) || wrong "$1 needs a value"
      case $1 in
        --rdma) rdma=$2 ;;
        --setup) setup=$2 ;;
        --write) writable+=("$2") ;;
        --env) environment+=("$2") ;;
        --limit) limit=$2 ;;
        --memory) memory=$2 ;;
        --cpus) cpus=$2 ;;
        --console) console=$2 ;;
      esac
      shift 2
      ;;
    --tcg) tcg=1 && shift ;;
    --verbose) verbose=1 && shift ;;
    --check) mode=check && shift ;;
    --prepare) mode=prepare && shift ;;
    -h | --help) usage && exit 0 ;;
    --) shift && break ;;
    -*) wrong "unknown option $1" ;;
    *) break ;;
  esac
done
[[ $mode != run ]] || (($#)) || wrong "no command given"
for number in "$limit" "$memory" "$cpus"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || wrong "not a number: $number"
done
case $rdma in roce | two | down | none) ;; *) wrong "unknown RDMA state $rdma" ;; esac
[[ -z $setup || -r $setup ]] || wrong "cannot read $setup"

# --- can a guest be had here? ---------------------------------------------------

cached() { [[ -f $cache/recipe && $(<"$cache/recipe") == "$recipe" ]]; }

# The distribution's package that pulls in its newest kernel with RDMA modules.
kernel_meta() {
  # shellcheck disable=SC1091
  case $(. /etc/os-release && echo "${ID:-}") in
    ubuntu) echo linux-image-generic ;; # untested
    *) echo linux-image-amd64 ;;
  esac
}

# apt with package lists of our own where the machine has none: a container
# image ships without, and only root may fill the system's.
apt_options=()
kernel_package() {
  apt-cache "${apt_options[@]}" depends "$(kernel_meta)" 2>/dev/null |
    awk '$1 == "Depends:" && $2 ~ /^linux-image-/ && !n++ {print $2}' || :
}

# A /dev/kvm that opens proves little (nested and paravirtual ones exist that
# cannot run a stock kernel), so the answer is what a boot under it gave, asked
# once per kernel of this machine.
kvm_answer() {
  [[ -z $tcg && -r /dev/kvm && -w /dev/kvm ]] || echo no
  sed -n "s/^$(uname -r) //p" "$cache/kvm" 2>/dev/null
}
kvm_usable() {
  local answer log=$cache/kvm.log
  answer=$(kvm_answer | head -n 1)
  if [[ -z $answer ]]; then
    say "trying KVM (once)"
    make_initrd "$cache/probe"
    timeout --foreground 10 qemu-system-x86_64 -accel kvm "${kvm_cpu[@]}" -nodefaults -no-user-config \
      -display none -no-reboot -M pc -m 512 -kernel "$cache/kernel" -initrd "$cache/probe/initrd" \
      -append 'console=ttyS0 quiet panic=-1 rdmaguard.probe' -serial stdio </dev/null >"$log" 2>&1 || :
    grep -q 'guest-init: probe' "$log" && answer=yes || answer=no
    rm -rf "$log" "$cache/probe"
    echo "$(uname -r) $answer" >"$cache/kvm"
    [[ $answer == yes ]] || say "/dev/kvm is there but runs no stock kernel: emulating instead"
  fi
  [[ $answer == yes ]]
}
# arch-capabilities: some nested hosts announce that register and refuse to set it.
kvm_cpu=(-cpu 'host,-arch-capabilities')

make_initrd() { # DIRECTORY: initrd, there
  mkdir -p "$1/init"
  install -m 755 "$here/guest-init.sh" "$1/init/init"
  { cat "$cache/initrd" && (cd "$1/init" && echo init | cpio --quiet -o -H newc -R 0:0); } >"$1/initrd"
}

# Prints why not, a line each; nothing when all is there.
obstacles() {
  local need=() have
  [[ $(uname -m) == x86_64 ]] || echo "the guest is x86_64, this machine is $(uname -m)"
  command -v qemu-system-x86_64 >/dev/null || need+=(qemu-system-x86)
  command -v ip >/dev/null && command -v rdma >/dev/null || need+=(iproute2)
  have=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p)
  [[ $have == *libibverbs.so.1* ]] || need+=(libibverbs1)
  compgen -G '/usr/lib/*/libibverbs/librxe-rdmav*.so' >/dev/null || need+=(ibverbs-providers)
  command -v cpio >/dev/null || need+=(cpio)
  if ! cached; then
    { command -v busybox >/dev/null && ! ldd "$(command -v busybox)" >/dev/null 2>&1; } ||
      need+=(busybox-static)
    command -v depmod >/dev/null || [[ -x /sbin/depmod ]] || need+=(kmod)
    command -v xz >/dev/null || need+=(xz-utils)
    command -v apt-get >/dev/null ||
      echo "the kernel is fetched with apt-get download, which this machine does not have"
  fi
  # Same names on Debian 12 and Ubuntu (untested there).
  ((!${#need[@]})) || echo "missing packages: apt-get install ${need[*]}"
}

if [[ $mode == check ]]; then
  reasons=$(obstacles)
  if [[ -n $reasons ]]; then
    while read -r reason; do say "not available: $reason"; done <<<"$reasons"
    exit 1
  fi
  case $(kvm_answer | head -n 1) in
    yes) how=KVM ;;
    no) how='emulated, no usable /dev/kvm' ;;
    *) how='emulated unless /dev/kvm proves usable' ;;
  esac
  if cached; then
    say "available ($how; kernel $(<"$cache/version"), unpacked)"
  else
    say "available ($how; the kernel, about 70 MB, is yet to be downloaded: guest.sh --prepare)"
  fi
  exit 0
fi
reasons=$(obstacles)
if [[ -n $reasons ]]; then
  while read -r reason; do say "not available: $reason"; done <<<"$reasons"
  exit 125
fi
PATH=$PATH:/usr/sbin:/sbin

# --- once: the kernel, and an initramfs with its modules --------------------------

# Started as a plain ELF file the kernel need not unpack itself, which costs an
# emulated CPU seconds. The boot header says where the packed image lies:
# Documentation/x86/boot.rst, setup_sects, payload_offset, payload_length.
unpack_kernel() { # BZIMAGE ELF
  local sects offset length start magic
  sects=$(od -An -tu1 -j 497 -N 1 "$1") offset=$(od -An -tu4 -j 584 -N 4 "$1")
  length=$(od -An -tu4 -j 588 -N 4 "$1")
  start=$(((sects + 1) * 512 + offset))
  payload() { tail -c "+$((start + 1))" "$1" | head -c "$length"; }
  magic=$(od -An -tx1 -j "$start" -N 4 "$1" | tr -d ' ')
  case $magic in
    fd377a58) payload "$1" | xz -dc --single-stream ;;
    28b52ffd) payload "$1" | zstd -dcq ;; # Ubuntu, untested
    1f8b*) payload "$1" | gzip -dc ;;
    *) return 1 ;;
  esac >"$2" 2>/dev/null || : # the payload's length trails the stream
  # 0x12: the note that holds the entry point QEMU jumps to.
  readelf -n "$2" 2>/dev/null | grep -q 0x00000012
}

own_lists() { # REASON
  say "$1: fetching some into $cache/apt"
  mkdir -p "$cache"/apt/{state/lists/partial,cache/archives/partial}
  apt_options=(-o "Dir::State=$cache/apt/state" -o "Dir::Cache=$cache/apt/cache"
    -o Dir::State::status=/var/lib/dpkg/status -o APT::Sandbox::User=)
  apt-get "${apt_options[@]}" update -qq >&2 || die "apt-get update failed"
}

prepare() {
  local image version parts dir=$cache/new module file optional packages name
  rm -rf "$dir" && mkdir -p "$dir"/{deb,tree,root} "$dir"/root/{bin,dev,proc,sys,modules,job,lower,scratch,new}
  image=$(kernel_package)
  if [[ -z $image ]]; then
    own_lists "apt has no package lists here"
    image=$(kernel_package)
  fi
  [[ -n $image ]] || die "apt knows no $(kernel_meta) to take a kernel from"
  version=${image#linux-image-}
  packages=("$image")
  # Ubuntu (untested) keeps the modules in packages of their own.
  for parts in "linux-modules-$version" "linux-modules-extra-$version"; do
    apt-cache "${apt_options[@]}" show "$parts" >/dev/null 2>&1 && packages+=("$parts")
  done
  say "fetching ${packages[*]} (about 70 MB, once; unpacked to $cache, not installed)"
  download() { (cd "$dir/deb" && apt-get "${apt_options[@]}" download "$@" >"$dir/apt.log" 2>&1); }
  if ! download "${packages[@]}" && [[ ${#apt_options[@]} == 0 ]]; then
    own_lists "this machine's package lists may be out of date"
    # A newer kernel may have taken the place of the one that is gone.
    packages=("$(kernel_package)")
    version=${packages[0]#linux-image-}
    : >"$dir/apt.log"
    download "${packages[@]}" || :
  fi
  compgen -G "$dir/deb/*.deb" >/dev/null || {
    cat "$dir/apt.log" >&2
    die "apt-get download failed"
  }
  say "unpacking it"
  for file in "$dir"/deb/*.deb; do
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$dir/tree" --no-same-owner --wildcards \
      --no-anchored 'boot/vmlinuz-*' 'modules/*/modules.*' 'kernel/arch/x86/*' 'kernel/crypto/*' \
      'kernel/drivers/char/*' 'kernel/drivers/infiniband/*' 'kernel/drivers/net/*' \
      'kernel/drivers/virtio/*' 'kernel/fs/*' 'kernel/lib/*' 'kernel/net/*' 2>/dev/null || :
  done
  file=$(compgen -G "$dir/tree/boot/vmlinuz-*" | head -n 1) || die "no kernel in ${packages[*]}"
  # Newer distributions pack each module.
  find "$dir/tree" -name '*.ko.xz' -exec xz -d {} +
  find "$dir/tree" -name '*.ko.zst' -exec zstd -dq --rm {} +
  if [[ -d $dir/tree/usr/lib/modules && ! -e $dir/tree/lib ]]; then ln -s usr/lib "$dir/tree/lib"; fi
  depmod -b "$dir/tree" "$version"
  for name in $modules; do
    optional=''
    [[ $name != \(* ]] || { optional=1 && name=${name//[()]/}; }
    modprobe -S "$version" -d "$dir/tree" --show-depends "$name" 2>/dev/null || [[ -n $optional ]] ||
      die "the kernel $version has no module $name"
  done | awk '$1 == "insmod" && !seen[$2]++ {print $2}' >"$dir/order"
  while read -r module; do
    cp "$module" "$dir/root/modules/"
    basename "$module"
  done <"$dir/order" >"$dir/root/modules/order"
  cp "$(command -v busybox)" "$dir/root/bin/busybox"
  (cd "$dir/root" && find . | cpio --quiet -o -H newc -R 0:0) >"$cache/initrd"
  unpack_kernel "$file" "$dir/vmlinux" && file=$dir/vmlinux
  mv "$file" "$cache/kernel"
  echo "$version" >"$cache/version"
  echo "$recipe" >"$cache/recipe"
  rm -rf "$dir"
}

mkdir -p "$cache" || die "cannot write to $cache"
exec 9>"$cache/lock"
flock 9
cached || prepare
kvm_usable && kvm=1 || kvm=''
exec 9>&-
[[ $mode != prepare ]] || exit 0

# --- this run ---------------------------------------------------------------------

work=$(mktemp -d "${TMPDIR:-/tmp}/rdmaguard-guest.XXXXXX")
machine=''
# shellcheck disable=SC2317
cleanup() {
  [[ -z $machine ]] || kill "$machine" 2>/dev/null || :
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir -p "$work/in"
make_initrd "$work"

shares=() index=0
: >"$work/in/shares"
for directory in "${writable[@]}"; do
  directory=$(realpath -e -- "$directory") || die "--write: no such directory"
  [[ $directory != *[[:space:],]* ]] || die "--write: no blank or comma may be in $directory"
  shares+=(-fsdev "local,id=keep$index,path=$directory,security_model=none,multidevs=remap"
    -device "virtio-9p-pci,fsdev=keep$index,mount_tag=keep$index")
  echo "keep$index $directory" >>"$work/in/shares"
  index=$((index + 1))
done
if [[ -n $setup ]]; then
  cp "$setup" "$work/in/setup"
else
  printf 'exec sh %q %q\n' "$here/rdma-setup.sh" "$rdma" >"$work/in/setup"
fi
{
  printf 'export HOME=%q\n' "${HOME:-/root}"
  for entry in "${environment[@]}"; do
    name=${entry%%=*}
    [[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || wrong "not a variable's name: $name"
    if [[ $entry == *=* ]]; then
      printf 'export %s=%q\n' "$name" "${entry#*=}"
    elif [[ -n ${!name+set} ]]; then
      printf 'export %s=%q\n' "$name" "${!name}"
    fi
  done
  printf 'cd %q || exit 125\nexec' "$PWD"
  printf ' %q' "$@"
  echo
} >"$work/in/command"

if [[ -n $kvm ]]; then
  accel=(-accel kvm "${kvm_cpu[@]}") how=KVM
else
  # la57: five-level page tables only slow an emulated CPU down.
  accel=(-accel 'tcg,thread=multi' -cpu 'max,la57=off') how=emulated
fi

# Pipes of our own: QEMU makes its outputs non-blocking, which must not happen to
# a terminal or file shared with others. Drained to the end even when our reader
# left, or the guest would block on its next write.
exec 7> >(cat || cat >/dev/null)
out=$!
exec 8> >(cat >&2 || cat >/dev/null)
err=$!
started=$SECONDS
timeout --foreground -k 5 "$limit" qemu-system-x86_64 \
  -nodefaults -no-user-config -display none -no-reboot -M pc "${accel[@]}" \
  -smp "$cpus" -m "$memory" -kernel "$cache/kernel" -initrd "$work/initrd" \
  -append "console=ttyS0 quiet loglevel=4 panic=-1 oops=panic mitigations=off" \
  -serial "file:$work/console" \
  -add-fd fd=7,set=1 -chardev file,id=out,path=/dev/fdset/1,append=on \
  -add-fd fd=8,set=2 -chardev file,id=err,path=/dev/fdset/2,append=on \
  -device virtio-serial-pci \
  -device virtserialport,nr=1,chardev=out -device virtserialport,nr=2,chardev=err \
  -fsdev "local,id=job,path=$work,security_model=none" -device virtio-9p-pci,fsdev=job,mount_tag=job \
  -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
  -device virtio-9p-pci,fsdev=root,mount_tag=root \
  "${shares[@]}" </dev/null >"$work/qemu.log" 2>&1 &
machine=$!
exec 7>&- 8>&-
status=0
wait "$machine" || status=$?
machine=''
wait "$out" "$err" || :
[[ -z $console ]] || cp "$work/console" "$console" 2>/dev/null || :

if [[ -s $work/status ]]; then
  [[ -z $verbose ]] ||
    say "$how, kernel $(<"$cache/version"), ready after $(<"$work/ready") s, $((SECONDS - started)) s in all"
  exit "$(<"$work/status")"
fi
if ((status == 124 || status == 137)); then
  say "the limit of $limit s was hit ($how); the guest was $([[ -s $work/ready ]] && echo running the command || echo still starting)"
  exit 124
fi
say "failed: $(cat "$work/failure" 2>/dev/null || echo "the virtual machine ended (QEMU $status) without an exit status")"
tail -n 5 "$work/qemu.log" >&2 || :
say "the end of its console:"
tail -n 20 "$work/console" >&2 2>/dev/null || :
exit 125
