"""Stops in every phase of a run: exit code 75, a checkpoint, and a resumed run that equals an undisturbed one bit for bit.

The program is kolo with tests/support/fault_points.cpp linked in: KOLO_FAULT lets a rank send itself a signal at a known
place, or makes a place last long enough to be stopped in.  Where the run must not get to any more it throws instead.
"""
import os
import pathlib
import shutil
import signal
import tempfile
import time
import unittest

import harness
import results
import undisturbed

EPOCHS, STEPS_AN_EPOCH, EVALUATION_ROUNDS = 4, 21, 20
DECK = {"run.progress": "plain", "run.progress_seconds": 0.001, "data.format": "synthetic", "data.samples": 203,
        "data.test_samples": 101, "data.val_fraction": 0.2, "data.channels": 1, "data.height": 8, "data.width": 8,
        "model.name": "mlp", "model.hidden": 16, "model.dropout": 0.1, "train.epochs": EPOCHS, "train.global_batch": 8,
        "train.eval_batch": 1, "optimizer.name": "adam", "optimizer.lr": 0.001, "schedule.name": "cosine",
        "checkpoint.every_steps": 7, "comm.timeout": 10}
# Validation takes half a second a round, and its end is never reached.
LONG_EVALUATION = ",".join([f"0:evaluation:{i}:slow" for i in range(1, EVALUATION_ROUNDS)] +
                           [f"0:evaluation:{EVALUATION_ROUNDS}:throw"])


@unittest.skipUnless(results.h5py, results.NO_H5PY)
class Stops(undisturbed.UndisturbedTest):
    """Runs of the deck above on two ranks."""

    undisturbed = None  # path of a run of that deck to which nothing happened

    def setUp(self):
        super().setUp()
        self.deck = self.write_deck(DECK)

    def start_with(self, fault, *arguments, run="run", resume="auto", env=None, **options):
        # The launcher need not wait a second for the other ranks when the first has ended with a code.
        ends_fast = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
        return self.start("--input", self.deck, "--run-dir", run, "--resume", resume, *arguments, ranks=2,
                          env=ends_fast | {"KOLO_FAULT": fault} | (env or {}), **options)

    def train_undisturbed(self):
        if Stops.undisturbed is None:
            directory = pathlib.Path(tempfile.mkdtemp(prefix="kolo-e2e-"))
            unittest.addModuleCleanup(shutil.rmtree, directory)
            self.train(self.deck, directory / "undisturbed", ranks=2)
            Stops.undisturbed = directory / "undisturbed"
        return Stops.undisturbed

    def position(self, run="run"):
        """(epochs done, steps done in the one after them), by the newest checkpoint."""
        return tuple(int(results.progress_value(self.last(run), key)) for key in ("epoch", "step_in_epoch"))

    def require_stopped(self, result, cause, run="run"):
        """Ended in order, told why everywhere, and left the checkpoint of the step it stopped at."""
        self.assertEqual(result.code, 75, str(result))
        self.assertEqual(result.error_lines, [], str(result))
        summary = results.read_summary(self.dir / run)
        self.assertEqual((summary["reason"], summary["exit_code"]), (f"stopped: {cause}", 75))
        end = f"stopped by {cause} after step {self.step(run)} "
        self.assertIn(end, result.out)
        self.assertIn(end, (self.dir / run / "log.txt").read_text())
        self.assertEqual(self.last(run).resolve().name, f"step_{self.step(run):09}.h5")
        epochs, in_epoch = self.position(run)
        self.assertEqual(self.step(run), epochs * STEPS_AN_EPOCH + in_epoch)
        self.assertEqual(results.column(self.dir / run, "epoch"), list(range(1, epochs + 1)))

    def require_as_undisturbed(self, run="run", resume="required", reference=None, **options):
        """Resumes `run` to its end, which is that of a run nothing happened to, the final test included."""
        reference = reference or self.train_undisturbed()
        self.run_kolo("--input", self.deck, "--run-dir", run, "--resume", resume, ranks=2, **options)
        self.require_equal(run, reference)
        summaries = [results.read_summary(self.dir / name) for name in (run, reference)]
        for summary in summaries:
            del summary["samples_per_s"]
        self.assertEqual(*summaries)
        self.assertEqual([path.name for path in (self.dir / run).rglob("*") if ".tmp-" in path.name], [])


class OwnSignals(Stops):
    """A rank gets a signal.  One run is stopped in one phase after the other; each start resumes what the last one left."""

    def stop(self, name, fault, resume="required", detail=""):
        result = self.start_with(fault, resume=resume).finish()
        self.require_stopped(result, f"signal {name}{detail}")

    def stop_in_training(self, name, rank):
        self.stop(name, f"{rank}:opening:1:{name}", resume="off")
        self.assertEqual(self.last("run").resolve().name, "step_000000000.h5")
        self.stop(name, f"{rank}:loader:9:{name}")
        step = self.step("run")
        self.assertIn(step, range(1, STEPS_AN_EPOCH))
        self.stop(name, f"{rank}:forward:3:{name}")
        self.assertEqual(self.step("run"), step + 4)  # the next step's message says so
        self.stop(name, f"0:checkpoint:1:{name}")

    def stop_in_evaluation(self, name, rank):
        self.stop(name, f"{rank}:evaluation:2:{name},{rank}:evaluation:3:throw")
        self.assertEqual(self.position()[1], STEPS_AN_EPOCH)

    def stop_in_write_protocol(self, name):
        for call in ("write:9", "fsync:11", "rename:8"):
            self.stop(name, f"0:{call}:{name}")

    def stop_in_final_test(self, name, rank):
        before = EVALUATION_ROUNDS * (EPOCHS - self.position()[0])
        fault = f"{rank}:evaluation:{before + 2}:{name},{rank}:evaluation:{before + 3}:throw"
        self.stop(name, fault, detail=" during the final test")
        self.assertEqual(self.position(), (EPOCHS, 0))
        self.assertIsNone(results.read_summary(self.dir / "run")["test_top1"])
        self.stop(name, f"{rank}:opening:1:{name}")

    def require_every_phase(self, name, rank):
        self.stop_in_training(name, rank)
        self.stop_in_evaluation(name, rank)
        self.stop_in_write_protocol(name)
        self.stop_in_final_test(name, rank)
        self.require_as_undisturbed()

    def test_usr1_in_every_phase(self):
        self.require_every_phase("USR1", 1)

    def test_usr2_in_every_phase(self):
        self.require_every_phase("USR2", 0)

    def test_term_in_every_phase(self):
        self.require_every_phase("TERM", 1)

    def test_int_in_every_phase(self):
        self.require_every_phase("INT", 0)

    def test_in_the_evaluation_of_an_epoch_that_max_steps_cuts(self):
        cut = {"train.max_steps": STEPS_AN_EPOCH + 10}
        result = self.start_with(f"1:evaluation:{EVALUATION_ROUNDS + 2}:USR1,1:evaluation:{EVALUATION_ROUNDS + 3}:throw",
                                 sets=cut).finish()
        self.require_stopped(result, "signal USR1")
        self.assertEqual(self.position(), (1, 10))
        self.train(self.deck, "cut", ranks=2, sets=cut)
        self.require_as_undisturbed(reference="cut", sets=cut)


class Causes(Stops):
    """What stops a run that is not a signal to a rank."""

    def test_stop_file_in_an_evaluation(self):
        job = self.start_with(LONG_EVALUATION)
        job.wait_for_line(r"epoch 1/\d+  step \d+/")
        (self.dir / "run" / "STOP").touch()
        self.require_stopped(job.finish(), "a STOP file in the run directory")
        self.assertEqual(self.position(), (0, STEPS_AN_EPOCH))
        self.require_as_undisturbed()

    def test_max_time_in_an_evaluation(self):
        result = self.start_with(LONG_EVALUATION, "--max-time", "00:00:03").finish()
        self.require_stopped(result, "--max-time")
        self.assertEqual(self.position(), (0, STEPS_AN_EPOCH))
        self.require_as_undisturbed()

    def test_end_of_a_slurm_job(self):
        end = int(time.time()) + 5
        result = self.start_with(LONG_EVALUATION, env={"SLURM_JOB_END_TIME": str(end)},
                                 sets={"checkpoint.job_end_margin": 2}).finish()
        self.require_stopped(result, "the coming end of the Slurm job")
        self.assertLess((self.dir / "run" / "summary.json").stat().st_mtime, end)
        self.assertEqual(self.position(), (0, STEPS_AN_EPOCH))
        self.assertRegex(result.out, r"the Slurm job ends at .*: the run stops 2 s before")
        self.require_as_undisturbed()

    def test_slurm_job_that_has_ended_already(self):
        result = self.start_with("", env={"SLURM_JOB_END_TIME": str(int(time.time()) - 100)}).finish()
        self.require_stopped(result, "the coming end of the Slurm job")
        self.assertEqual(self.step("run"), 0)
        self.require_as_undisturbed()

    def test_job_end_that_is_no_time(self):
        for value in ("", "soon", "-5", "1e3"):
            result = self.train(self.deck, f"run{value}", sets={"train.max_steps": 3}, env={"SLURM_JOB_END_TIME": value})
            self.assertNotIn("Slurm", result.out)


class Impatience(Stops):
    """Signals that end a run at once, or a launcher that does: no file is harmed."""

    def signal_twice(self, number, fault):
        """Sends the first one to a run that `fault` holds at its second checkpoint, so that it cannot stop in order."""
        job = self.start_with(fault, sets={"comm.timeout": 0})
        job.wait_for_line(r"epoch 1/\d+  step 1[4-9]/")
        self.pause(0.3)
        pid = job.pid_of_rank(0)
        os.kill(pid, number)
        self.pause(0.3)
        self.assertIn(pid, job.processes())
        os.kill(pid, number)
        result = job.finish(killed=True)
        self.assertNotIn(result.code, (0, 75), str(result))
        self.assertLessEqual(len(result.error_lines), 1, str(result))
        self.require_as_undisturbed()

    def test_second_term_ends_a_run_held_in_the_checkpoint_thread(self):
        self.signal_twice(signal.SIGTERM, "0:checkpoint:2:hang")

    def test_second_int_ends_a_run_held_in_fsync(self):
        self.signal_twice(signal.SIGINT, "0:fsync:14:hang")

    def test_second_term_ends_a_run_held_in_rename(self):
        self.signal_twice(signal.SIGTERM, "0:rename:7:hang")

    def test_launcher_that_is_told_to_stop(self):
        # It passes both on as TERM and kills a second later: in the evaluation there is time to stop in order, in fsync not.
        for number, fault in ((signal.SIGTERM, LONG_EVALUATION), (signal.SIGINT, "0:fsync:14:hang")):
            with self.subTest(number.name):
                job = self.start_with(fault, run=number.name, env={"OMPI_MCA_odls_base_sigkill_timeout": "1"})
                job.wait_for_line(r"epoch 1/\d+  step 1[4-9]/")
                self.pause(0.3)
                job.signal(number)
                result = job.finish(killed=True)
                self.assertLessEqual(len(result.error_lines), 1, str(result))
                self.require_as_undisturbed(number.name, resume="auto")


if __name__ == "__main__":
    harness.main()
