"""Faults put into a running job: ranks that are killed, stopped, hang, throw or run out of memory; system calls that fail.

The program is kolo with tests/support/fault_points.cpp linked in; KOLO_FAULT says where it goes wrong.  Each time the job must
be over, with one error line that says which rank, where and when, with no process left, and the next start must go on.
"""
import errno
import fcntl
import os
import pathlib
import re
import resource
import signal
import socket
import unittest

import datasets
import harness
import job as job_module
import results
import undisturbed

HOST = re.escape(socket.gethostname())
DECK = {"run.progress": "plain", "run.progress_seconds": 0.001, "data.format": "synthetic", "data.samples": 203,
        "data.test_samples": 101, "data.val_fraction": 0.2, "data.channels": 1, "data.height": 8, "data.width": 8,
        "model.name": "mlp", "model.hidden": 16, "train.epochs": 3, "train.global_batch": 8, "train.eval_batch": 10,
        "optimizer.name": "adam", "optimizer.lr": 0.001, "checkpoint.every_steps": 7, "comm.timeout": 2}
STEPS_AN_EPOCH = 21


@unittest.skipUnless(results.h5py, results.NO_H5PY)
class Faults(undisturbed.UndisturbedTest):
    """Runs of the deck above, with a fault each."""

    def setUp(self):
        super().setUp()
        self.deck = self.write_deck(DECK)
        self.reference = None

    def start_with(self, fault, run="run", ranks=2, **options):
        return self.start("--input", self.deck, "--run-dir", run, "--resume", "auto", ranks=ranks,
                          env={"KOLO_FAULT": fault}, **options)

    def require_as_undisturbed(self, run="run"):
        """Resumes `run` without a fault; its end is that of a run nothing happened to."""
        if self.reference is None:
            self.reference = "undisturbed"
            self.train(self.deck, self.reference, ranks=2)
        self.run_kolo("--run-dir", run, "--input", self.deck, "--resume", "auto", ranks=2)
        self.require_equal(run, self.reference)
        left = [path.name for path in (self.dir / run).rglob("*") if ".tmp-" in path.name]
        self.assertEqual(left, [])


class LostRanks(Faults):
    """A rank that is gone or does not move."""

    def require_named(self, result, pattern, code=None):
        self.assertEqual(len(result.error_lines), 1, str(result))
        self.assertRegex(result.error_lines[0], r"kolo: error\[\d\]: " + pattern)
        if code is not None:
            self.require_error(result, code)

    def test_killed_in_any_phase(self):
        for fault, place in (("1:forward:9:KILL", r"step 9, forward"), ("0:forward:9:KILL", r"step 9, forward"),
                             ("1:evaluation:1:KILL", rf"step {STEPS_AN_EPOCH}, evaluation"),
                             ("1:forward:30:SEGV", r"step 30, forward"), ("0:checkpoint:2:KILL", r"step \d+, \w+")):
            with self.subTest(fault):
                result = self.start_with(fault, fault).finish(killed=True)
                self.assertNotIn(result.code, (0, 75), str(result))
                self.require_named(result, rf"rank {fault[0]} on {HOST}: the process has ended, in {place}")
                self.require_as_undisturbed(fault)

    def test_stopped_in_any_phase(self):
        for fault, place in (("1:forward:9:STOP", "step 9, forward"), ("0:loader:24:STOP", r"step \d+, \w+"),
                             ("1:evaluation:1:STOP", rf"step {STEPS_AN_EPOCH}, evaluation")):
            with self.subTest(fault):
                result = self.start_with(fault, fault).finish(killed=True)
                self.require_named(result, rf"rank {fault[0]} on {HOST} \({place}\) does not respond: nothing moved for 4 s", 5)
                self.assertRegex(result.err, rf"kolo: warning: rank {fault[0]} on {HOST} .*nothing moved for 2 s")
                self.require_as_undisturbed(fault)

    def test_thread_that_hangs(self):
        result = self.start_with("1:loader:9:hang").finish(killed=True)
        self.require_named(result, rf"rank 1 on {HOST} \(step \d+, data\) does not get on", 5)
        self.assertRegex(result.err, r"  rank 0 on .*: step \d+, exchange, silent for")
        self.require_as_undisturbed()

    def test_killed_rank_of_three_and_without_a_timeout(self):
        result = self.start_with("2:forward:9:KILL", ranks=3, sets={"comm.timeout": 0}).finish(killed=True)
        self.require_named(result, rf"rank 2 on {HOST}: the process has ended, in step 9, forward")

    def test_suspended_job_is_not_a_hang(self):
        job = self.start("--input", self.deck, "--run-dir", "run", ranks=2, sets={"train.epochs": 100000})
        job.wait_for_line(r"step \d+/")
        pids = [job.pid_of_rank(rank) for rank in (0, 1)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        self.pause(6)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        self.pause(3)
        (self.dir / "run" / "STOP").touch()
        result = job.finish()
        self.assertEqual(result.code, 75, str(result))
        self.assertNotIn("nothing moved", result.err)


class BlockedOutput(Faults):
    """Nobody reads what the run writes, or its file system does not answer: the watchdog has its say all the same."""

    def make_pipe(self, path):
        """A pipe with little room and a reader that does not read."""
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)

    def require_end(self, job):
        result = job.finish()
        self.require_error(result, 5, "nothing moved for 4 s")
        self.assertIn("kolo: warning: ", result.err)
        return result

    def test_standard_output(self):
        self.make_pipe(self.dir / "pipe")
        into_pipe = ("sh", "-c", 'exec "$@" >pipe', "sh")
        self.require_end(self.start("--input", self.deck, "--run-dir", "run", before=into_pipe, sets={"train.epochs": 10000}))
        self.assertEqual(results.read_summary(self.dir / "run")["exit_code"], 5)

    def test_standard_output_of_one_rank(self):
        self.make_pipe(self.dir / "pipe")
        script = self.dir / "kolo"
        script.write_text(f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec >pipe\nexec {harness._programs["kolo"]} "$@"\n')
        script.chmod(0o755)
        launcher = [harness._programs["mpiexec"], "-n", "2", "--oversubscribe", "--bind-to", "none", str(script)]
        job = job_module.Job([*launcher, "--input", str(self.deck), "--run-dir", "run", "--set", "train.epochs=10000",
                              "--set", "run.threads=1"], self.dir, {})
        self.addCleanup(job.kill)
        self.require_end(job)

    def test_log_file(self):
        (self.dir / "run").mkdir()
        self.make_pipe(self.dir / "run" / "log.txt")
        self.require_end(self.start("--input", self.deck, "--run-dir", "run", sets={"train.epochs": 10000}))


class LostData(Faults):
    """Files that change under a run."""

    def test_data_file_that_becomes_shorter(self):
        images = datasets.write_idx(self.dir / "data", count=4000)
        sets = {"data.format": "idx", "data.path": self.dir / "data", "train.epochs": 100000}
        for ranks in (0, 2):
            with self.subTest(ranks):
                content = images.read_bytes()
                job = self.start("--input", self.deck, "--run-dir", f"run{ranks}", ranks=ranks, sets=sets)
                job.wait_for_line(r"epoch 1/")
                os.truncate(images, 16)
                result = job.finish(killed=True)
                self.require_error(result, 3, "a data file became shorter while it was in use")
                self.assertIn("\nkolo: error[3]: ", result.err)  # not behind a progress bar
                images.write_bytes(content)


class ThrowingRanks(Faults):
    """Exceptions, wherever they come from."""

    def test_error_names_rank_host_step_and_phase(self):
        for fault, place in (("1:forward:9:throw", "step 9, forward"), ("0:forward:9:throw", "step 9, forward"),
                             ("1:loader:9:throw", "step 9, data"),
                             ("0:checkpoint:1:throw", r"step \d+, checkpoint"),
                             ("1:evaluation:2:throw", rf"step {STEPS_AN_EPOCH}, evaluation")):
            with self.subTest(fault):
                result = self.start_with(fault, fault).finish()
                self.require_error(result, 1, "thrown on purpose")
                self.assertRegex(result.error_lines[0], rf"rank {fault[0]} on {HOST}: {place}: thrown on purpose$")
                self.assertEqual(results.read_summary(self.dir / fault)["exit_code"], 1)
                self.require_as_undisturbed(fault)

    def test_error_while_a_checkpoint_is_being_written(self):
        """The checkpoint is the state of its step, though the run is torn down around its writer."""
        for rank in (0, 1):
            run = f"rank{rank}"
            result = self.start_with(f"0:checkpoint:2:slow,{rank}:forward:17:throw", run).finish()
            self.require_error(result, 1, "thrown on purpose")
            self.assertEqual(self.step(run), 14)
            self.require_as_undisturbed(run)

    def test_memory_that_runs_out(self):
        for fault in ("1:forward:9:bad_alloc", "0:checkpoint:2:bad_alloc"):
            result = self.start_with(fault).finish()
            self.require_error(result, 1, f"rank {fault[0]} on", "out of memory")
        self.require_as_undisturbed()

    def test_a_limit_on_memory(self):
        # The first evaluation needs far more than the steps before it.
        job = self.start("--input", self.deck, "--run-dir", "run", ranks=2,
                         sets={"model.hidden": 4096, "data.samples": 20000, "data.val_fraction": 0.5,
                               "train.eval_batch": 5000})
        job.wait_for_line(r"epoch 1/\d+  step \d+/")
        pid = job.pid_of_rank(1)
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (32 << 20)
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
        result = job.finish()
        self.require_error(result, 1, "rank 1 on", "out of memory", "evaluation")


class WriteProtocol(Faults):
    """System calls of the checkpoint thread that fail, or during which the job dies."""

    def test_failing_calls_end_the_run_with_the_old_checkpoint_whole(self):
        for call, error in (("write", "ENOSPC"), ("fsync", "EIO"), ("rename", "EROFS"), ("create", "EDQUOT"),
                            ("symlink", "ENOSPC")):
            with self.subTest(call):
                run = f"{call}-{error}"
                self.run_kolo("--input", self.deck, "--run-dir", run, ranks=2, sets={"train.max_steps": 15})
                result = self.start_with(f"0:{call}:9:{error}", run).finish()
                self.require_error(result, 4, run, os.strerror(getattr(errno, error)))
                self.require_as_undisturbed(run)

    def test_death_at_any_call(self):
        fault = 0
        for call in range(3, 90, 9):
            result = self.start_with(f"0:*:{call}:KILL").finish(killed=True)
            fault += result.code != 0
            self.assertNotEqual(result.code, 75, str(result))
        self.assertGreater(fault, 5)
        self.require_as_undisturbed()


if __name__ == "__main__":
    harness.main()
