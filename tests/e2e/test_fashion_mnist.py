"""The main job, cut short, on the real data set."""
import pathlib
import unittest

import harness
import results

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
DECK = harness.SOURCE_ROOT / "input" / "fashion_mnist_cnn.ini"


@unittest.skipUnless(DATA.is_dir(), f"{DATA} is not here (Debian: dataset-fashion-mnist)")
class FashionMnist(harness.KoloTest):
    """input/fashion_mnist_cnn.ini for a hundred steps on two ranks."""

    def test_a_hundred_steps_learn_most_of_it(self):
        out = self.train(DECK, "run", ranks=2, sets={"train.max_steps": 100, "data.val_fraction": 0.01}).out
        self.assertIn("59,400 train, 600 validation, 10,000 test samples of 1x28x28, 10 classes", out)
        summary = results.read_summary(self.dir / "run")
        self.assertEqual(summary["reason"], "max_steps")
        self.assertGreater(summary["test_top1"], 0.7)
        self.assertGreater(summary["best_val_top1"], 0.7)
        correct = summary["test_top1"] * 10_000
        self.assertAlmostEqual(correct, round(correct), delta=1e-6)


if __name__ == "__main__":
    harness.main()
