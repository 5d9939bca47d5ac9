"""The same mathematics for any number of ranks.

10,007 training samples and a batch of 96 are divisible by nothing that matters: shares are unequal and the last step of an
epoch is ragged.  The one-rank run is the oracle for the others.
"""
import harness
import results

# 10,533 less 5 % (526) for validation leaves 10,007.
DECK = {"run.dtype": "fp64", "run.progress": "none", "data.format": "synthetic", "data.samples": 10533,
        "data.val_fraction": 0.05, "data.test_samples": 503, "data.channels": 1, "data.height": 8, "data.width": 8,
        "data.crop_padding": 1, "data.flip": "true", "model.name": "mlp", "model.hidden": 24, "train.epochs": 2,
        "train.global_batch": 96, "train.eval_batch": 37, "optimizer.lr": 0.01, "optimizer.weight_decay": 0.001,
        "checkpoint.every_epochs": 0}
VALIDATION, TEST = 526, 503
SIZES = (1, 2, 3, 4)


class Sameness(harness.KoloTest):
    """Runs that differ in nothing but the number of ranks."""

    def runs(self, sizes=SIZES, **changes):
        """Trains at each size; {ranks: run directory}."""
        deck = self.write_deck(DECK | {key.replace("__", "."): value for key, value in changes.items()})
        for ranks in sizes:
            self.train(deck, f"ranks{ranks}", ranks=ranks)
        return {ranks: self.dir / f"ranks{ranks}" for ranks in sizes}

    def require_same_losses(self, runs, bound):
        oracle = results.column(runs[1], "train_loss")
        self.assertEqual(len(oracle), 2)
        for ranks, run in runs.items():
            difference = results.largest_relative_difference(results.column(run, "train_loss"), oracle)
            self.assertLessEqual(difference, bound, f"{ranks} ranks")
            self.assertEqual(results.column(run, "step"), [105, 210])

    def require_same_counts(self, runs):
        """Numbers of right answers: whole, and the same whatever the number of ranks."""
        counts = []
        for run in runs.values():
            correct = [top1 * VALIDATION for top1 in results.column(run, "val_top1")]
            correct.append(results.read_summary(run)["test_top1"] * TEST)
            for value in correct:
                self.assertAlmostEqual(value, round(value), delta=1e-6)
            counts.append([round(value) for value in correct])
        self.assertEqual(counts, counts[:1] * len(counts))

    def test_fp64_sgd(self):
        runs = self.runs(optimizer__name="sgd")
        self.require_same_losses(runs, 1e-10)
        self.require_same_counts(runs)

    def test_fp64_adam(self):
        runs = self.runs(optimizer__name="adam", optimizer__lr=0.001)
        self.require_same_losses(runs, 1e-10)
        self.require_same_counts(runs)

    def test_fp64_adamw_with_clipping_and_a_schedule(self):
        runs = self.runs(optimizer__name="adamw", optimizer__lr=0.001, optimizer__no_decay="bias_and_norm",
                         train__clip_norm=0.5, train__label_smoothing=0.1, schedule__name="cosine",
                         schedule__warmup_epochs=0.5)
        self.require_same_losses(runs, 1e-10)
        self.require_same_counts(runs)

    def test_fp64_sgd_with_accumulation_and_another_exchange(self):
        runs = self.runs(optimizer__name="sgd", train__batch_per_rank=7, comm__strategy="allreduce")
        self.require_same_losses(runs, 1e-10)
        self.require_same_counts(runs)
        # Neither how a step's samples are cut into passes nor how gradients travel changes the step.
        self.train(self.write_deck(DECK), "whole", ranks=3)
        self.require_same_losses({1: runs[1], 3: self.dir / "whole"}, 1e-10)

    def test_strategy_may_change_between_save_and_resume(self):
        deck = self.write_deck(DECK | {"optimizer.name": "adam", "optimizer.lr": 0.001, "train.clip_norm": 0.5})
        self.train(deck, "undisturbed", ranks=2, sets={"comm.strategy": "shared"})
        for first, second in (("shared", "allreduce"), ("allreduce", "shared")):
            run = f"{first}-{second}"
            self.train(deck, run, "--stop-after-epochs", "1", ranks=2, expect=75, sets={"comm.strategy": first})
            resumed = self.run_kolo("--run-dir", run, "--resume", "required", ranks=2, sets={"comm.strategy": second})
            self.assertIn(f"not bit-exact: the strategy was {first}, now {second}", resumed.out)
            losses = [results.column(self.dir / name, "train_loss") for name in (run, "undisturbed")]
            self.assertLessEqual(results.largest_relative_difference(*losses), 1e-10, run)

    def test_fp32_sgd(self):
        self.require_same_losses(self.runs(run__dtype="fp32", optimizer__name="sgd"), 1e-4)


if __name__ == "__main__":
    harness.main()
