"""File systems that fail under a run: full, read-only, gone; and run directories that are not as they should be.

The failing file systems are small tmpfs mounted below the test's own directory, which only root may do.
"""
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
import results
import undisturbed

DECK = {"run.progress": "plain", "run.progress_seconds": 0.001, "data.format": "synthetic", "data.samples": 203,
        "data.val_fraction": 0.2, "data.channels": 1, "data.height": 8, "data.width": 8, "model.name": "mlp",
        "model.hidden": 1024, "train.global_batch": 8, "train.epochs": 3, "optimizer.name": "adam",
        "optimizer.lr": 0.001, "checkpoint.every_steps": 7, "checkpoint.keep": 2, "comm.timeout": 10}
CHECKPOINT_KB = 990


def mount(*arguments):
    """mount(8); raises CalledProcessError."""
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True, text=True)


def why_no_mounts():
    """Empty where a tmpfs can be mounted."""
    if os.getuid() != 0:
        return "only root may mount a tmpfs"
    with tempfile.TemporaryDirectory() as directory:
        try:
            mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", directory)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"a tmpfs cannot be mounted here: {getattr(error, 'stderr', None) or error}"
        subprocess.run(["umount", "-l", directory], check=True)
    return ""


class Disk(undisturbed.UndisturbedTest):
    """Runs of the deck above on two ranks."""

    def setUp(self):
        super().setUp()
        self.deck = self.write_deck(DECK)

    def start_run(self, *arguments, run="run", **options):
        return self.start("--input", self.deck, "--run-dir", run, "--resume", "auto", *arguments, ranks=2, **options)

    def require_write_error(self, result, *words):
        """Code 4, and the error line names a file of the run and the cause."""
        self.require_error(result, 4, "run/", *words)

    def require_as_undisturbed(self, run="run", resume="auto"):
        self.train(self.deck, "undisturbed", ranks=2)
        self.run_kolo("--input", self.deck, "--run-dir", run, "--resume", resume, ranks=2)
        self.require_equal(run, "undisturbed")
        self.assertEqual([path.name for path in (self.dir / run).rglob("*") if ".tmp-" in path.name], [])


@unittest.skipUnless(results.h5py, results.NO_H5PY)
class Mounted(Disk):
    """The run directory, or its file system, is a mount of the test's."""

    @classmethod
    def setUpClass(cls):
        if reason := why_no_mounts():
            raise unittest.SkipTest(reason)

    def unmount(self, path):
        subprocess.run(["umount", "-l", path], check=False, capture_output=True)

    def mount_tmpfs(self, kilobytes):
        """An empty run directory with a file system of its own."""
        run = self.dir / "run"
        run.mkdir()
        mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", run)
        self.addCleanup(self.unmount, run)
        return run

    def fill(self, run):
        """Takes the last byte of the file system; returns the file that has it."""
        path = run / "ballast"
        with self.assertRaises(OSError), open(path, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        return path

    def make_read_only(self, path):
        """At once, for every file that is opened from now on."""
        view = self.dir / f"read-only-{path.name}"
        view.mkdir()
        mount("--bind", path, view)
        self.addCleanup(self.unmount, view)
        mount("-o", "remount,bind,ro", view)
        mount("--bind", view, path)
        self.addCleanup(self.unmount, path)

    def test_disk_that_fills_while_training(self):
        run = self.mount_tmpfs(CHECKPOINT_KB * 3 // 2)
        result = self.start_run().finish()
        self.require_write_error(result, "step_000000014.h5", "No space left on device", "free on its file system")
        self.assertEqual(self.step("run"), 7)
        self.assertEqual([path.name for path in run.rglob("*") if ".tmp-" in path.name], [])
        self.run_kolo("verify", "run", threads=None)
        mount("-o", f"remount,size={CHECKPOINT_KB * 9}k", run)
        self.require_as_undisturbed()

    def test_disk_that_is_full_before_the_start(self):
        run = self.mount_tmpfs(4 * CHECKPOINT_KB)
        self.run_kolo("--input", self.deck, "--run-dir", "run", ranks=2, sets={"train.max_steps": 7})
        before = results.read_checkpoint(self.last("run"))
        ballast = self.fill(run)
        result = self.start_run().finish()
        self.require_write_error(result, "No space left on device")
        self.assertEqual(results.read_checkpoint(self.last("run")), before)
        ballast.unlink()
        self.require_as_undisturbed()

    def test_new_run_on_a_disk_that_is_full(self):
        run = self.mount_tmpfs(64)
        self.fill(run)
        result = self.start_run().finish()
        self.require_write_error(result, "No space left on device")
        mount("-o", f"remount,size={CHECKPOINT_KB * 9}k", run)
        self.require_as_undisturbed()

    def start_endless(self):
        """A run that goes on until something happens to it, and writes checkpoints all the time."""
        job = self.start_run(sets={"train.epochs": 1000000})
        job.wait_for_line(r"epoch [2-9]\d*/\d+  step \d+/")
        return job

    def finish_both(self):
        """Resumes for some more steps, and takes as many in an undisturbed run."""
        limit = {"train.max_steps": self.step("run") + 50, "train.epochs": 1000000}
        self.run_kolo("--input", self.deck, "--run-dir", "run", "--resume", "auto", ranks=2, sets=limit)
        self.train(self.deck, "undisturbed", ranks=2, sets=limit)
        self.require_equal("run", "undisturbed")
        self.assertEqual([path.name for path in (self.dir / "run").rglob("*") if ".tmp-" in path.name], [])

    def test_directory_that_becomes_read_only(self):
        for part in ("run", "run/checkpoints"):
            with self.subTest(part):
                shutil.rmtree(self.dir / "undisturbed", ignore_errors=True)
                shutil.rmtree(self.dir / "run", ignore_errors=True)
                job = self.start_endless()
                self.make_read_only(self.dir / part)
                result = job.finish()
                self.require_write_error(result, "Read-only file system")
                self.unmount(self.dir / part)
                self.finish_both()

    def test_directory_that_is_read_only_before_the_start(self):
        self.run_kolo("--input", self.deck, "--run-dir", "run", ranks=2, sets={"train.max_steps": 10})
        self.make_read_only(self.dir / "run")
        self.require_error(self.start_run().finish(), 2, "'run'", "Read-only file system")
        self.unmount(self.dir / "run")
        self.require_as_undisturbed()


@unittest.skipUnless(results.h5py, results.NO_H5PY)
class Directory(Disk):
    """What others do to a run directory."""

    def test_directory_that_is_removed_while_training(self):
        job = self.start_run(sets={"train.epochs": 1000000})
        job.wait_for_line(r"epoch 2/\d+  step \d+/")
        # Renamed first: else a checkpoint may come between the removal of the files and that of their directory.
        (self.dir / "run").rename(self.dir / "removed")
        shutil.rmtree(self.dir / "removed")
        self.require_write_error(job.finish(), "No such file or directory")
        self.assertFalse((self.dir / "run").exists())
        self.require_as_undisturbed()

    def test_checkpoints_that_are_moved_away_and_put_back(self):
        self.run_kolo("--input", self.deck, "--run-dir", "run", "--stop-after-epochs", 1, ranks=2, expect=75)
        (self.dir / "run" / "checkpoints").rename(self.dir / "elsewhere")
        before = {path: path.read_bytes() for path in (self.dir / "run").iterdir() if path.name != ".lock"}
        result = self.start("--run-dir", "run", "--resume", "required", ranks=2).finish()
        self.require_error(result, 4, "'run' has no checkpoint to resume from")
        self.assertEqual({path: path.read_bytes() for path in before}, before)
        shutil.rmtree(self.dir / "run" / "checkpoints", ignore_errors=True)
        (self.dir / "elsewhere").rename(self.dir / "run" / "checkpoints")
        self.require_as_undisturbed()

    def test_limit_on_the_size_of_files(self):
        job = self.start_run(sets={"train.epochs": 1000000})
        job.wait_for_line(r"epoch 2/\d+  step \d+/")
        limit = CHECKPOINT_KB * 1024 // 2
        resource.prlimit(job.pid_of_rank(0), resource.RLIMIT_FSIZE, (limit, limit))
        result = job.finish()
        self.require_write_error(result, "step_0", "File too large")
        self.assertIn("ulimit -f", result.err)
        self.assertEqual(results.read_summary(self.dir / "run")["exit_code"], 4)

    def test_directory_in_use(self):
        job = self.start_run(sets={"train.epochs": 1000000})
        job.wait_for_line(r"step 1\d/")
        pid = job.pid_of_rank(0)
        second = self.start_run().finish()
        self.require_error(second, 5, "run", "in use by", f"process {pid} ")
        for victim in job.processes():
            os.kill(victim, signal.SIGKILL)
        job.finish(killed=True)
        third = self.run_kolo("--run-dir", "run", "--resume", "auto", ranks=2,
                              sets={"train.max_steps": self.step("run") + 50})
        self.assertIn("resuming from run/checkpoints/step_", third.out)


if __name__ == "__main__":
    harness.main()
