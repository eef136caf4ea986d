#!/usr/bin/env bash
# Before the tasks of a job step: would NCCL use RDMA on this node? For slurm.conf:
#   TaskProlog=/etc/slurm/task-prolog.sh      or for one step: srun --task-prolog=...
# Slurm runs it as the job's user with the task's environment and prints to the task's output what
# follows "print ". A non-zero exit status ends the task; no node is drained by it.
#   RDMAGUARD_PREFLIGHT=off    in the job's environment: no look at all
#   RDMAGUARD_PREFLIGHT=warn   says it and lets the job run
# Exit status: 2 when NCCL would not use RDMA, else 0.
set -u
# Slurm gives its prologs no search path.
PATH=${PATH:-/usr/bin:/bin}:/usr/local/bin

tell() { sed 's/^/print preflight: /'; }

# Once a node, for jobs of several nodes that have GPUs.
[[ ${RDMAGUARD_PREFLIGHT:-} != off ]] || exit 0
[[ ${SLURM_LOCALID:-0} == 0 ]] || exit 0
((${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:-1}} > 1)) || exit 0
[[ -n ${SLURM_JOB_GPUS:-}${SLURM_STEP_GPUS:-}${SLURM_GPUS_ON_NODE:-}${CUDA_VISIBLE_DEVICES:-} ]] || exit 0

# A look that does not end, or cannot be had, is no reason to keep a job from running.
report=$(timeout -k 1 10 rdmaguard preflight --require rdma --color never 2>&1)
status=$?
case $status in
  0) exit 0 ;;
  1 | 2) sed '/^This node$/,$d' <<<"$report" | tell ;;
  3) head -n 1 <<<"$report" | tell ;;
  *) echo "no answer (exit status $status)" | tell ;;
esac
((status == 2)) && [[ ${RDMAGUARD_PREFLIGHT:-} != warn ]] && exit 2
exit 0
