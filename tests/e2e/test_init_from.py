"""--init-from: a new run that begins with the weights of a checkpoint, and nothing else of it."""
import os
import signal
import unittest

import harness
import results

DECK = {"run.progress": "none", "data.format": "synthetic", "data.samples": 203, "data.test_samples": 0,
        "data.val_fraction": 0.2, "data.channels": 3, "data.height": 8, "data.width": 8, "model.name": "cnn",
        "train.epochs": 2, "train.global_batch": 20, "optimizer.name": "adam", "optimizer.lr": 0.001}
# Adam's step has the size of the learning rate whatever the gradient: this one changes no bit.
FROZEN = {"optimizer.lr": 1e-30, "train.epochs": 1, "run.seed": 7}


@unittest.skipUnless(results.h5py, results.NO_H5PY)
class InitFrom(harness.KoloTest):
    """Runs that begin with the weights of `first`."""

    def setUp(self):
        super().setUp()
        self.deck = self.write_deck(DECK)
        self.train(self.deck, "first", ranks=2)
        self.checkpoint = self.dir / "first" / "checkpoints" / "last.h5"

    def weights(self, run):
        found = results.read_checkpoint(self.dir / run / "checkpoints" / "last.h5")
        return {name: value for name, value in found.items() if name.startswith("model/")}

    def test_weights_are_taken_and_nothing_else(self):
        self.train(self.deck, "second", "--init-from", self.checkpoint, ranks=2, sets=FROZEN)
        self.train(self.deck, "other", ranks=2, sets=FROZEN)
        self.assertEqual(self.weights("second"), self.weights("first"))
        self.assertNotEqual(self.weights("other"), self.weights("first"))
        self.assertEqual(results.column(self.dir / "second", "epoch"), [1])
        self.assertEqual(results.column(self.dir / "second", "step"), results.column(self.dir / "other", "step"))

    def test_a_resumed_run_goes_on_from_its_own(self):
        arguments = ("--init-from", self.checkpoint, "--resume", "auto")
        self.run_kolo("--input", self.deck, "--run-dir", "second", *arguments, "--stop-after-epochs", 1, ranks=2, expect=75)
        self.checkpoint.unlink()
        out = self.run_kolo("--run-dir", "second", *arguments, ranks=2).out
        self.assertIn("--init-from is not used", out)
        self.assertEqual(results.column(self.dir / "second", "epoch"), [1, 2])

    def test_weights_are_not_lost_with_a_start_that_was_killed_early(self):
        # The resumed run is not told of the file, which is gone anyway.
        job = self.start("--input", self.deck, "--run-dir", "second", "--init-from", self.checkpoint, ranks=2,
                         sets={"train.epochs": 1000000, "checkpoint.every_epochs": 0, "data.val_fraction": 0,
                               "run.progress": "plain", "run.progress_seconds": 0.001})
        start = self.dir / "second" / "checkpoints" / "step_000000000.h5"
        job.wait_for_line(r"epoch \d+/")
        for _ in range(1000):  # it is written beside the training
            if start.exists():
                break
            self.pause(0.05)
        for pid in job.processes():
            os.kill(pid, signal.SIGKILL)
        job.finish(killed=True)
        self.assertEqual([path.name for path in start.parent.glob("step_*")], [start.name])
        start.rename(start.with_name("last.h5"))
        self.assertEqual(self.weights("second"), self.weights("first"))

    def test_what_does_not_fit_is_refused_before_anything_is_made(self):
        damaged = self.dir / "damaged.h5"
        damaged.write_bytes(self.checkpoint.read_bytes()[:-1])
        for path in (damaged, self.dir / "absent.h5", self.deck):
            result = self.train(self.deck, "second", "--init-from", path, ranks=2, expect=4)
            self.require_error(result, 4, "--init-from", path.name)
            self.assertFalse((self.dir / "second").exists())

    def test_another_model_is_refused_with_the_name_of_what_is_missing(self):
        for sets, words in (({"model.name": "mlp"}, ["parameter"]), ({"data.classes": 11}, ["fc2.", "[10]", "[11]"]),
                            ({"run.dtype": "fp64"}, ["fp32", "fp64"])):
            result = self.train(self.deck, "second", "--init-from", self.checkpoint, ranks=2, sets=sets, expect=4)
            self.require_error(result, 4, "--init-from", "last.h5", *words)


if __name__ == "__main__":
    harness.main()
