"""A run that is stopped and resumed equals one that was left alone, bit for bit at the same number of ranks.

Weights, optimizer state, position and metrics are compared; times are not.  Where a run stops is left to chance, and the
undisturbed run is told afterwards (train.max_steps) to end at the same step.
"""
import shutil
import signal
import unittest

import harness
import results
import undisturbed

# Short steps and many of them: a signal that takes its time still arrives in mid-epoch.
DECK = {"run.progress": "plain", "run.progress_seconds": 0.001, "data.format": "synthetic", "data.samples": 6011,
        "data.test_samples": 101, "data.val_fraction": 0.01, "data.channels": 1, "data.height": 8, "data.width": 8,
        "data.flip": "true", "data.crop_padding": 1, "model.name": "mlp", "model.hidden": 16, "train.epochs": 3,
        "train.global_batch": 8, "optimizer.name": "adam", "optimizer.lr": 0.001, "schedule.name": "cosine"}
# For runs whose length is not known beforehand: the learning rate must not depend on it.
ENDLESS = DECK | {"train.epochs": 1000000, "schedule.name": "constant", "schedule.warmup_epochs": 0.01,
                  "checkpoint.every_epochs": 7}
SMALL = DECK | {"data.samples": 403, "train.epochs": 2}


@unittest.skipUnless(results.h5py, results.NO_H5PY)
class BitExact(undisturbed.UndisturbedTest):
    """Stopped and resumed against undisturbed."""

    def require_stopped(self, result, run, cause):
        self.assertEqual(result.code, 75, str(result))
        self.assertEqual(result.error_lines, [], str(result))
        self.assertIn(cause, result.out)
        self.assertIn("--resume required", result.out)
        summary = results.read_summary(self.dir / run)
        self.assertEqual(summary["exit_code"], 75)
        self.assertIn(cause, summary["reason"])
        step = self.step(run)
        self.assertEqual(self.last(run).resolve().name, f"step_{step:09}.h5")
        return step

    def finish_both(self, deck, run, steps_more=200):
        """Resumes `run` for some more steps, and takes as many in an undisturbed run."""
        limit = {"train.max_steps": self.step(run) + steps_more}
        self.run_kolo("--run-dir", run, "--resume", "required", ranks=2, sets=limit)
        self.train(deck, "undisturbed", ranks=2, sets=limit)
        self.require_equal(run, "undisturbed")

    def test_usr1_in_mid_epoch(self):
        deck = self.write_deck(DECK)
        job = self.start("--input", deck, "--run-dir", "run", ranks=2)
        job.wait_for_line(r"epoch 2/3  step \d+/")
        job.signal(signal.SIGUSR1)
        self.require_stopped(job.finish(), "run", "signal USR1")
        in_epoch = results.progress_value(self.last("run"), "step_in_epoch")
        self.assertGreater(in_epoch, 0)
        self.assertEqual(results.progress_value(self.last("run"), "sample_offset"), in_epoch * 8)
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1])
        resumed = self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2)
        self.assertIn("bit-exact", resumed.out)
        self.train(deck, "undisturbed", ranks=2)
        self.require_equal("run", "undisturbed")
        summaries = [results.read_summary(self.dir / run) for run in ("run", "undisturbed")]
        for summary in summaries:
            del summary["samples_per_s"]
        self.assertEqual(*summaries)

    def test_stop_file(self):
        deck = self.write_deck(ENDLESS)
        job = self.start("--input", deck, "--run-dir", "run", ranks=2)
        job.wait_for_line(r"epoch 1/\d+  step \d+/")
        (self.dir / "run" / "STOP").touch()
        self.require_stopped(job.finish(), "run", "STOP file")
        self.finish_both(deck, "run")
        self.assertFalse((self.dir / "run" / "STOP").exists())

    def test_max_time(self):
        deck = self.write_deck(ENDLESS)
        result = self.run_kolo("--input", deck, "--run-dir", "run", "--max-time", "00:00:02", ranks=2, expect=75)
        self.require_stopped(result, "run", "--max-time")
        self.finish_both(deck, "run")

    def test_usr2_twice_in_one_run(self):
        deck = self.write_deck(ENDLESS)
        for arguments in (["--input", deck, "--run-dir", "run"], ["--run-dir", "run", "--resume", "auto"]):
            job = self.start(*arguments, ranks=2)
            job.wait_for_line(r"epoch \d+/\d+  step \d+/")
            job.signal(signal.SIGUSR2)
            self.require_stopped(job.finish(), "run", "signal USR2")
        self.finish_both(deck, "run")

    def test_stop_after_epochs_leaves_the_schedule_alone(self):
        deck = self.write_deck(SMALL | {"schedule.warmup_epochs": 0.5})
        result = self.run_kolo("--input", deck, "--run-dir", "run", "--stop-after-epochs", 1, ranks=2, expect=75)
        self.require_stopped(result, "run", "--stop-after-epochs")
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1])
        self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2)
        self.train(deck, "undisturbed", ranks=2)
        self.require_equal("run", "undisturbed")

    def require_exact_from_step(self, deck, step, ranks=2):
        """Takes away what an undisturbed run wrote after `step` in mid-epoch, as if it had died, and resumes it."""
        self.train(deck, "undisturbed", ranks=ranks, sets={"checkpoint.every_steps": step, "checkpoint.keep": 99})
        shutil.copytree(self.dir / "undisturbed", self.dir / "run", symlinks=True)
        for path in (self.dir / "run" / "checkpoints").iterdir():
            if path.is_symlink() or path.name > f"step_{step:09}.h5":
                path.unlink()
        self.run_kolo("--run-dir", "run", "--resume", "required", ranks=ranks)
        self.require_equal("run", "undisturbed")

    def test_batch_norm(self):
        small = {"data.samples": 70, "data.val_fraction": 0.1, "data.test_samples": 0, "train.global_batch": 8}
        other = {"data.channels": 3, "model.name": "resnet18", "model.stem": "cifar", "optimizer.name": "sgd",
                 "optimizer.lr": 0.01}
        self.require_exact_from_step(self.write_deck(SMALL | small | other), 5)

    def test_dropout(self):
        self.require_exact_from_step(self.write_deck(SMALL | {"model.dropout": 0.3}), 31)

    def test_accumulation_and_clipping_in_fp64(self):
        deck = self.write_deck(SMALL | {"run.dtype": "fp64", "train.global_batch": 30, "train.batch_per_rank": 4,
                                        "train.clip_norm": 0.5, "optimizer.name": "adamw",
                                        "comm.strategy": "allreduce"})
        self.require_exact_from_step(deck, 9, ranks=3)

    def test_end_by_max_steps_and_on_with_more(self):
        deck = self.write_deck(SMALL | {"schedule.name": "constant"})
        self.train(deck, "run", ranks=2, sets={"train.max_steps": 31})
        self.assertEqual(self.step("run"), 31)
        self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2, sets={"train.max_steps": 0})
        self.train(deck, "undisturbed", ranks=2)
        self.require_equal("run", "undisturbed")

    def test_end_by_max_steps_does_not_count_as_an_epoch_for_early_stop(self):
        deck = self.write_deck(SMALL | {"schedule.name": "constant", "train.early_stop_patience": 2, "train.epochs": 9,
                                        "train.early_stop_min_delta": 0.99})
        self.train(deck, "run", ranks=2, sets={"train.max_steps": 70})
        self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2, sets={"train.max_steps": 0})
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1, 2, 3])


class Signals(harness.KoloTest):
    """Signals that reach the ranks themselves."""

    def test_term_and_int_stop_a_run_in_order(self):
        deck = self.write_deck(ENDLESS)
        for number in (signal.SIGTERM, signal.SIGINT):
            job = self.start("--input", deck, "--run-dir", number.name)
            job.wait_for_line(r"step \d+/")
            job.signal(number)
            result = job.finish()
            self.assertEqual(result.code, 75, str(result))
            self.assertIn("signal " + number.name[3:], result.out)

    def test_signal_while_the_program_is_being_loaded(self):
        """From the moment on at which the handlers are there, long before main."""
        deck = self.write_deck(ENDLESS)
        for number in (signal.SIGUSR1, signal.SIGTERM):
            job = self.start("--input", deck, "--run-dir", number.name)
            job.wait_until_it_catches(number)
            job.signal(number)
            result = job.finish()
            self.assertEqual(result.code, 75, str(result))
            self.assertTrue((self.dir / number.name / "checkpoints" / "step_000000000.h5").exists())


if __name__ == "__main__":
    harness.main()
