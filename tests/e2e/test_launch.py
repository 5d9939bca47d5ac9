"""How kolo is launched, and what happens when the launch is wrong or a rank dies."""
import os
import signal
import subprocess

import harness
import results

DECK = {"run.progress": "plain", "run.progress_seconds": 0.001, "data.format": "synthetic", "data.samples": 1003,
        "data.channels": 1, "data.height": 8, "data.width": 8, "model.name": "mlp", "model.hidden": 8,
        "train.epochs": 1000000, "train.global_batch": 12, "checkpoint.every_epochs": 1}


class Singletons(harness.KoloTest):
    """Copies that a launcher of another MPI started are refused; a batch shell's variables are not a launch."""

    def test_environments_with_several_tasks_are_refused(self):
        deck = self.write_deck(DECK)
        for variable, tasks in (("OMPI_COMM_WORLD_SIZE", 4), ("PMI_SIZE", 3), ("SLURM_STEP_NUM_TASKS", 2)):
            for command in (["check"], ["--run-dir", "run"]):
                with self.subTest(variable=variable, command=command):
                    result = self.start(*command, "--input", deck, env={variable: str(tasks)}).finish()
                    self.require_error(result, 5, f"{tasks} copies", variable, "world size 1")
                    self.assertFalse((self.dir / "run").exists())

    def test_only_the_first_of_them_speaks(self):
        deck = self.write_deck(DECK)
        env = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}
        result = self.start("check", "--input", deck, env=env).finish()
        self.assertEqual((result.code, result.error_lines), (5, []), str(result))

    def test_one_task_and_the_variables_of_a_batch_shell_are_fine(self):
        deck = self.write_deck(DECK)
        for env in ({"SLURM_NTASKS": "4"}, {"SLURM_STEP_NUM_TASKS": "1"}, {"OMPI_COMM_WORLD_SIZE": "1"}):
            with self.subTest(env=env):
                self.run_kolo("check", "--input", deck, env=env)


class Answers(harness.KoloTest):
    """--help and --version."""

    def test_each_is_printed_once_whatever_the_number_of_ranks(self):
        for option, text in (("--help", "Options of a training run"), ("--version", "kolo ")):
            for ranks in (0, 3):
                with self.subTest(option=option, ranks=ranks):
                    result = self.run_kolo(option, ranks=ranks, threads=None)
                    self.assertEqual(result.out.count(text), 1, str(result))
                    self.assertEqual(result.err, "")

    def test_help_lists_every_exit_code(self):
        out = self.run_kolo("--help", threads=None).out
        for code in (0, 1, 2, 3, 4, 5, 6, 75):
            self.assertRegex(out, rf"(?m)^\s*{code}\b")


class SharedMemory(harness.KoloTest):
    """A /dev/shm without room, in a mount namespace of the test's own."""

    def test_that_is_full_from_the_start_is_one_error(self):
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("needs root and mount namespaces")
        deck = self.write_deck(DECK)
        mount = "mount -t tmpfs -o size=3m tmpfs /dev/shm && exec \"$@\""
        job = self.start("check", "--input", deck, ranks=2, before=["unshare", "-m", "sh", "-c", mount, "sh"])
        self.require_error(job.finish(), 5, "shared memory")


class DeadRank(harness.KoloTest):
    """One rank is killed outright."""

    def test_ends_the_job_and_the_run_can_be_resumed(self):
        deck = self.write_deck(DECK)
        job = self.start("--input", deck, "--run-dir", "run", ranks=3)
        job.wait_for_line(r"epoch 2/\d+  step \d+/")
        os.kill(job.pid_of_rank(1), signal.SIGKILL)
        result = job.finish()
        self.assertNotIn(result.code, (0, 75), str(result))
        self.assertLessEqual(len(result.error_lines), 1, str(result))
        done = len(results.read_csv(self.dir / "run"))
        self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2, sets={"train.epochs": done + 1})
        self.assertEqual(results.column(self.dir / "run", "epoch"), list(range(1, done + 2)))


class Cores(harness.KoloTest):
    """comm.bind = auto divides what the user left to this job."""

    def test_what_taskset_allows_is_not_exceeded(self):
        core = sorted(os.sched_getaffinity(0))[-1]
        result = self.run_kolo("bench", "train", "--steps", 1, "--warmup", 0, threads=None,
                               sets={"model.name": "mlp", "model.hidden": 8}, before=["taskset", "-c", str(core)])
        self.assertRegex(result.out, rf"binding auto: 1 core over 1 rank\n.* core {core}  1 thread ")


if __name__ == "__main__":
    harness.main()
