#!/usr/bin/env bash
# Builds everything and runs every check and test: what `make -f Makefile.nccl check` and the
# continuous-integration job do.   scripts/check.sh [STEP...]   runs the named steps alone.
#
# Steps: setup nccl style build test install clang sanitize fuzz tidy bench
# (all but bench by default). Build output goes to build/check, each step's log to build/check/log.
# A second run builds only what changed.
#   RDMAGUARD_CHECK_SKIP="tidy sanitize"   leaves steps out, for a quick look
#   RDMAGUARD_NCCL_RELEASES="2.27.7 ..."   other releases than oldest, middle and newest
# The last line counts: "check: N passed, N failed, N skipped". Exit status: 0 nothing failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Started by make, which would have its children share job slots they cannot see.
unset MAKEFLAGS MFLAGS MAKELEVEL

out=$PWD/build/check
log=$out/log
mkdir -p "$log"
jobs=$(nproc)
releases=${RDMAGUARD_NCCL_RELEASES:-2.19.3 2.27.7 2.32.3}
export RDMAGUARD_NCCL_RELEASES=$releases
passed=0 failed=0 skipped=0 failures=() runner=()
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

steps=("$@")
((${#steps[@]})) || steps=(setup nccl style build test install clang sanitize fuzz tidy)

launcher=()
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

heading() { printf '\n== %s  [%dm%02ds]\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }
pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  failures+=("$1")
  echo "   FAILED: $1" >&2
}

# quietly NAME COMMAND...: runs COMMAND with its output in NAME.log, says every 20 s how far
# it is, and on failure shows the end of the log. Returns COMMAND's status.
quietly() {
  local name=$1 pid last='' line ticks=0 rc=0
  shift
  "$@" >"$log/$name.log" 2>&1 </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    ticks=$((ticks + 1))
    ((ticks % 100 == 0)) || continue
    line=$(tail -n 1 "$log/$name.log" | cut -c1-90)
    [[ $line == "$last" ]] || printf '   ... %s\n' "$line"
    last=$line
  done
  wait "$pid" || rc=$?
  if ((rc != 0)); then
    echo "   $name: exit status $rc; the end of $log/$name.log:" >&2
    tail -n "${show:-40}" "$log/$name.log" >&2
  fi
  return "$rc"
}

# checked NAME COMMAND...: the same, counted as one check.
checked() { if quietly "$@"; then pass; else fail "$1"; fi; }

# tested NAME DIRECTORY [CTEST-OPTION...]: runs the tests built in DIRECTORY and counts each.
tested() {
  local name=$1 directory=$2 results=$log/$1.xml rc=0 total bad left
  shift 2
  rm -f "$results"
  show=200 quietly "$name" "${runner[@]}" ctest --test-dir "$directory" --output-on-failure -j "$jobs" \
    --output-junit "$results" "$@" || rc=$?
  count() { sed -n "1,/<testsuite /s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" <<<"$(tr '\n' ' ' <"$results")" | head -n 1; }
  total=$(count tests) bad=$(count failures) left=$(($(count skipped) + $(count disabled)))
  if [[ -z $total ]] || ((total == 0)); then
    fail "$name (no test ran)"
    return
  fi
  passed=$((passed + total - bad - left)) failed=$((failed + bad)) skipped=$((skipped + left))
  echo "   $name: $((total - bad - left)) passed, $bad failed, $left skipped"
  ((left == 0)) || sed -n 's/^[[:space:]]*[0-9]* - \(.*\) (Skipped)$/      skipped: \1/p' "$log/$name.log"
  if ((bad)); then
    failures+=("$name: $bad of $total tests")
  elif ((rc)); then
    fail "$name (ctest: $rc)"
  fi
}

configure() {
  local directory=$1
  shift
  cmake -S . -B "$directory" -G Ninja "${launcher[@]}" "$@"
}

step_setup() {
  heading "setup: packages"
  scripts/setup.sh check
}

step_nccl() {
  heading "nccl: the real libnccl $releases"
  # shellcheck disable=SC2086
  if scripts/fetch-nccl.sh $releases; then pass; else fail "fetch-nccl"; fi
}

step_style() {
  heading "style: clang-format, shellcheck"
  local scripts
  mapfile -t scripts < <(git ls-files '*.sh' 'examples/*.sbatch' .ci/run)
  checked shellcheck shellcheck "${scripts[@]}"
  checked clang-format bash -c "git ls-files -z '*.cc' '*.h' '*.c' | xargs -0 -r clang-format-14 --dry-run -Werror"
}

step_build() {
  heading "build: g++, everything"
  quietly configure configure "$out/gcc" "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" &&
    quietly build cmake --build "$out/gcc"
}

step_test() {
  heading "test: units, the real libnccl, the guest"
  local without=()
  if tests/verbs/guest.sh --check; then
    # Here rather than within a test, whose time is limited.
    quietly guest-prepare tests/verbs/guest.sh --prepare || without=(-LE guest)
  else
    without=(-LE guest)
  fi
  ((${#without[@]} == 0)) || {
    echo "   no guest can be had on this machine: its tests are left out"
    skipped=$((skipped + 1))
  }
  tested tests "$out/gcc" "${without[@]}"
}

step_install() {
  heading "install: Makefile.nccl into a DESTDIR, and out again"
  checked install-make make -f Makefile.nccl "BUILD=$out/make" "CXX=${launcher:+ccache }g++"
  checked install tests/symbols/install.sh "$out/make"
}

step_clang() {
  heading "clang: the plugin and the command with the second compiler"
  checked clang-make make -f Makefile.nccl "BUILD=$out/clang" "CXX=${launcher:+ccache }clang++-14"
  checked clang-symbols bash tests/symbols/symbols.sh all "$out/clang/lib/librdmaguard.so"
}

# Which folders' tests run under which sanitizer: those of ours alone. The rest drives the real
# libnccl or another process, which is not built with the sanitizer's runtime.
step_sanitize() {
  # The thread sanitizer of g++ 12 needs address randomisation off on recent kernels; a
  # container may forbid that, and then it works or fails by luck of the kernel.
  ! setarch -R true 2>/dev/null || runner=(setarch -R)
  sanitize address,undefined engine readers verify:verify_tests,rdmaguard replay report guard \
    locate:ledger_tests
  # Only the recorder, the tap's ledger, the report and the guard have threads to race.
  sanitize thread replay report guard locate:ledger_tests
  runner=()
}
# sanitize KIND FOLDER[:TARGET[,TARGET]...]...: all the tests of a folder, or those of some
# programs in it.
sanitize() {
  local kind=$1 name=sanitize-${1%%,*} part programs targets=()
  shift
  heading "sanitize: $kind"
  for part in "$@"; do
    if [[ $part == *:* ]]; then IFS=, read -ra programs <<<"${part#*:}"; targets+=("${programs[@]}"); else targets+=("tests/$part/all"); fi
  done
  if ! quietly "$name-configure" configure "$out/$name" "-DRDMAGUARD_SANITIZE=$kind" \
    -DRDMAGUARD_BENCH=OFF -DCMAKE_BUILD_TYPE=None \
    "-DCMAKE_CXX_FLAGS=-O1 -g1 -fno-sanitize-recover=all" ||
    ! quietly "$name-build" "${runner[@]}" cmake --build "$out/$name" --target "${targets[@]}"; then
    fail "$name (build)"
    return
  fi
  for part in "$@"; do
    # What was not built is listed under a name of its own. The fixtures as they are suffice.
    tested "$name-${part%:*}" "$out/$name/tests/${part%:*}" -E NOT_BUILT -LE 'transformed|limited'
  done
}

step_fuzz() {
  heading "fuzz: ten seconds a reader"
  local target
  for target in tests/fuzz/*_fuzz.cc; do
    target=$(basename "$target" _fuzz.cc)
    checked "fuzz-$target" env "BUILD=$out/fuzz" tests/fuzz/run.sh 10 "$target"
  done
}

step_tidy() {
  heading "tidy: clang-tidy"
  [[ -e $out/gcc/compile_commands.json ]] || quietly configure configure "$out/gcc"
  checked tidy scripts/tidy.sh "$out/gcc" "$out/tidy"
}

step_bench() {
  local program
  step_build || {
    fail build
    return
  }
  heading "bench: what a callback and a tapped call cost"
  for program in "profiler_bench --plugin=$out/gcc/lib/librdmaguard.so" tap_bench; do
    # shellcheck disable=SC2086
    if "$out"/gcc/bin/$program; then pass; else fail "${program%% *}"; fi
  done
}

for step in "${steps[@]}"; do
  if [[ " ${RDMAGUARD_CHECK_SKIP:-} " == *" $step "* ]]; then
    heading "$step: left out by RDMAGUARD_CHECK_SKIP"
    skipped=$((skipped + 1))
    continue
  fi
  case $step in
    setup | build)
      # Without these the rest would only repeat the same failure.
      if "step_$step"; then pass; else
        fail "$step"
        break
      fi
      ;;
    nccl | style | test | install | clang | sanitize | fuzz | tidy | bench) "step_$step" ;;
    *)
      echo "check: no such step: $step" >&2
      exit 64
      ;;
  esac
done

heading "done"
((failed == 0)) || printf '   failed: %s\n' "${failures[@]}"
echo "check: $passed passed, $failed failed, $skipped skipped"
((failed == 0))
