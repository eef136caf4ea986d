"""The examples for Kubernetes and Slurm, held to what their READMEs say of them.

Environment: RDMAGUARD the command under test, EXAMPLES the folder of the examples.
Scripts run with stand-ins on PATH: `rdmaguard` answers with $ANSWER (or with ANSWER_<node>), srun
runs its command once for each node named, scontrol names two nodes.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

import yaml

COMMAND = os.environ["RDMAGUARD"]
EXAMPLES = pathlib.Path(os.environ["EXAMPLES"])

STAND_INS = {
    # Prints a report of the command's form.
    "rdmaguard": """echo "rdmaguard $*" >>"$CALLS"
case "$1 $2" in
  "preflight --listen") exit "${LISTENS:-0}" ;;
  "preflight --peer") exit "${PAIR_ANSWER:-0}" ;;
  preflight*) ;;
  *) exit 0 ;;
esac
[ -z "${HANGS:-}" ] || exec sleep 100
printf 'NCCL would say this.\\n\\nMissing conditions\\n  1. A cause.\\n\\nThis node\\n  n\\n'
answer=ANSWER_${SLURMD_NODENAME:-}
exit "${!answer:-${ANSWER:-0}}"
""",
    "scontrol": """[ "$1 $2" = "show hostnames" ] || exit 9
printf 'node1\\nnode2\\n'
""",
    # The highest exit status of its tasks, as srun gives it.
    "srun": """echo "srun $*" >>"$CALLS"
nodes=$NODES worst=0
while [ $# -gt 0 ]; do
  case $1 in
    --nodelist=*) nodes=${1#*=} ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
for node in $nodes; do
  status=0
  SLURMD_NODENAME=$node "$@" || status=$?
  [ "$status" -le "$worst" ] || worst=$status
done
exit "$worst"
""",
}


class Shell(unittest.TestCase):
    """With a folder that has the stand-ins."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        for name, text in STAND_INS.items():
            (self.path / name).write_text("#!/usr/bin/env bash\n" + text, encoding="utf-8")
            (self.path / name).chmod(0o755)

    def shell(self, argv, **variables):
        """Exit status, output, and the commands that were called."""
        calls = self.path / "calls"
        calls.write_text("", encoding="utf-8")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "CUDA"))}
        env.update(PATH=f"{self.path}:{os.environ['PATH']}", CALLS=str(calls), NODES="node1 node2",
                   TERMINATION_LOG=str(self.path / "message"))
        env.update(variables)
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=50, check=False)
        return done.returncode, done.stdout + done.stderr, calls.read_text(encoding="utf-8")


def verified(path):
    done = subprocess.run([COMMAND, "verify", str(path)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def job():
    documents = yaml.safe_load_all((EXAMPLES / "kubernetes/job.yaml").read_text(encoding="utf-8"))
    return next(d for d in documents if d["kind"] == "Job")["spec"]["template"]["spec"]


def rdma(container):
    limits = container["resources"]["limits"]
    return {k: v for k, v in limits.items() if k.startswith("rdma/")}


class Kubernetes(Shell):
    def test_the_manifest_lacks_nothing(self):
        code, text = verified(EXAMPLES / "kubernetes/job.yaml")
        self.assertEqual(code, 0, text)
        self.assertNotIn("Missing conditions", text)
        self.assertIn("gets RDMA devices by rdma/ib", text)

    def test_both_containers_have_what_decides_the_answer(self):
        spec = job()
        init, train = spec["initContainers"][0], spec["containers"][0]
        for key in ("image", "env", "securityContext"):
            self.assertEqual(init[key], train[key], key)
        self.assertTrue(rdma(init))
        self.assertEqual(rdma(init), rdma(train))
        self.assertNotIn("nvidia.com/gpu", init["resources"]["limits"])

    def test_only_a_fallback_fails_the_pod(self):
        init = job()["initContainers"][0]
        for answer, expected in ((0, 0), (1, 0), (2, 1), (3, 0)):
            code, text, calls = self.shell([*init["command"], *init["args"]], ANSWER=str(answer))
            self.assertEqual(code, expected, text)
            self.assertEqual(calls, "rdmaguard preflight --nccl auto --require rdma\n")
            self.assertIn("A cause.", text)
            self.assertIn("A cause.", (self.path / "message").read_text(encoding="utf-8"))


class SlurmTaskProlog(Shell):
    JOB = {"SLURM_JOB_NUM_NODES": "2", "SLURM_LOCALID": "0", "SLURM_GPUS_ON_NODE": "8"}

    def prolog(self, **variables):
        return self.shell([str(EXAMPLES / "slurm/task-prolog.sh")], **{**self.JOB, **variables})

    def test_a_prolog_is_silent_where_all_is_well(self):
        code, text, calls = self.prolog()
        self.assertEqual((code, text), (0, ""))
        self.assertIn("rdmaguard preflight --require rdma", calls)

    def test_a_prolog_ends_the_task_over_a_fallback_and_tells_the_job_why(self):
        code, text, _ = self.prolog(ANSWER="2")
        self.assertEqual(code, 2)
        lines = text.splitlines()
        self.assertTrue(all(line.startswith("print preflight: ") for line in lines), text)
        self.assertIn("print preflight:   1. A cause.", lines)
        self.assertNotIn("This node", text)

    def test_a_prolog_only_says_the_rest(self):
        for variables in ({"ANSWER": "1"}, {"ANSWER": "3"}, {"ANSWER": "127"},
                          {"ANSWER": "2", "RDMAGUARD_PREFLIGHT": "warn"}):
            code, text, _ = self.prolog(**variables)
            self.assertEqual(code, 0, variables)
            self.assertTrue(text.startswith("print preflight: "), text)

    def test_a_prolog_leaves_other_jobs_alone(self):
        for variables in ({"SLURM_JOB_NUM_NODES": "1"}, {"SLURM_LOCALID": "3"},
                          {"SLURM_GPUS_ON_NODE": ""}, {"RDMAGUARD_PREFLIGHT": "off"}):
            code, text, calls = self.prolog(ANSWER="2", **variables)
            self.assertEqual((code, text, calls), (0, "", ""), variables)

    def test_a_prolog_that_hangs_lets_the_job_run(self):
        code, text, _ = self.prolog(HANGS="1")
        self.assertEqual(code, 0)
        self.assertIn("no answer (exit status 124)", text)


class SlurmScript(Shell):
    def script(self, **variables):
        return self.shell(["bash", str(EXAMPLES / "slurm/train.sbatch")],
                          SLURM_JOB_NODELIST="node[1-2]", **variables)

    def test_the_batch_script_lacks_nothing(self):
        _, text = verified(EXAMPLES / "slurm/train.sbatch")
        self.assertIn("Nothing stands in RDMA's way", text)
        self.assertNotIn("Missing conditions", text)

    def test_the_batch_script_looks_on_every_node_then_trains(self):
        code, text, calls = self.script()
        self.assertEqual(code, 0, text)
        self.assertEqual(calls.count("rdmaguard preflight --nccl auto --require rdma\n"), 2, calls)
        self.assertIn("rdmaguard run --fail-fast -- torchrun --nnodes=2", calls)
        self.assertIn("--rdzv-endpoint=node1:29500", calls)
        self.assertNotIn("--peer", calls)

    def test_the_batch_script_stops_for_one_node_off_rdma_even_beside_one_unknown(self):
        code, text, calls = self.script(ANSWER_node1="2", ANSWER_node2="3")
        self.assertEqual(code, 2, text)
        self.assertNotIn("torchrun", calls)

    def test_the_batch_script_trains_on_degraded_and_unknown_nodes(self):
        code, text, calls = self.script(ANSWER_node1="1", ANSWER_node2="3")
        self.assertEqual(code, 0, text)
        self.assertIn("torchrun", calls)

    def test_the_batch_script_pairs_the_first_two_nodes_where_asked(self):
        for answer, expected in (("0", 0), ("1", 0), ("2", 2), ("3", 0)):
            code, text, calls = self.script(PAIR="1", PAIR_ANSWER=answer)
            self.assertEqual(code, expected, text)
            self.assertIn("--nodelist=node1 rdmaguard preflight --listen", calls)
            self.assertIn("--nodelist=node2 rdmaguard preflight --peer node1", calls)
            self.assertEqual("torchrun" in calls, expected == 0, calls)


if __name__ == "__main__":
    unittest.main()
