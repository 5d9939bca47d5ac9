"""A training run from start to end: what it prints, what it writes, and what it refuses."""
import math
import re
import signal
import unittest

import harness
import results

SMOKE = harness.SOURCE_ROOT / "input" / "synthetic_smoke.ini"
SMALL = {"run.progress": "plain", "run.progress_seconds": 0.001, "data.format": "synthetic", "data.samples": 803,
         "data.test_samples": 101, "data.val_fraction": 0.1, "data.channels": 1, "data.height": 8, "data.width": 8,
         "model.name": "mlp", "model.hidden": 16, "train.epochs": 2, "train.global_batch": 32, "optimizer.lr": 0.05}
LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* (.*)$")


class SmokeDeck(harness.KoloTest):
    """input/synthetic_smoke.ini, the deck that the documentation starts with."""

    def check_run(self, ranks):
        self.train(SMOKE, "run", ranks=ranks)
        run = self.dir / "run"
        for name in results.RUN_FILES:
            self.assertTrue((run / name).exists(), name)
        rows = results.read_csv(run)
        self.assertEqual([row["epoch"] for row in rows], [1, 2])
        self.assertEqual({row["world_size"] for row in rows}, {ranks})
        self.assertEqual({row["global_batch"] for row in rows}, {64})
        self.assertLess(rows[1]["train_loss"], rows[0]["train_loss"])
        self.assertGreater(rows[1]["val_top1"], 0.3, "chance is 0.1")
        summary = results.read_summary(run)
        self.assertEqual(list(summary), results.SUMMARY_KEYS)
        self.assertEqual((summary["reason"], summary["exit_code"], summary["epochs"]), ("completed", 0, 2))
        self.assertEqual(summary["best_val_top1"], max(row["val_top1"] for row in rows))
        self.assertEqual(summary["best_val_top1"], rows[summary["best_epoch"] - 1]["val_top1"])
        self.assertEqual(summary["parameters"], rows[0]["parameters"])
        self.assertTrue(0.3 < summary["test_top1"] <= 1 and summary["test_loss"] > 0 and summary["samples_per_s"] > 0)

    def test_one_rank_finishes_and_learns(self):
        self.check_run(1)

    def test_three_ranks_finish_and_learn(self):
        self.check_run(3)


class MetricFiles(harness.KoloTest):
    """metrics.csv, metrics.jsonl and metrics.h5."""

    def test_csv_and_jsonl_agree_and_have_every_column(self):
        self.train(self.write_deck(SMALL), "run", ranks=2)
        rows = results.read_csv(self.dir / "run")
        self.assertEqual(len(rows), 2)
        self.assertLessEqual(set(results.NEEDED_COLUMNS), set(rows[0]))
        self.assertEqual(rows, results.read_jsonl(self.dir / "run"))
        for row in rows:
            self.assertTrue(all(value is not None and math.isfinite(value) for value in row.values()), row)
            self.assertTrue(0 <= row["train_top1"] <= 1 and 0 <= row["val_top1"] <= 1, row)
            parts = ("data_s", "forward_s", "backward_s", "exchange_s", "update_s", "eval_s", "checkpoint_s")
            self.assertLessEqual(sum(row[name] for name in parts), 1.05 * row["seconds"], row)

    @unittest.skipUnless(results.h5py, results.NO_H5PY)
    def test_hdf5_holds_the_same_values_to_the_last_bit(self):
        self.train(self.write_deck(SMALL), "run")
        rows = results.read_csv(self.dir / "run")
        self.assertEqual(rows, results.read_metrics_h5(self.dir / "run"))
        top1 = rows[0]["train_top1"] * (803 - 80)
        self.assertAlmostEqual(top1, round(top1), delta=1e-6, msg="a fraction with at least 9 digits")

    def test_missing_validation_and_test_sets_are_missing_values(self):
        self.train(self.write_deck(SMALL), "run", sets={"data.val_fraction": 0, "data.test_samples": 0, "train.epochs": 1})
        for rows in (results.read_csv(self.dir / "run"), results.read_jsonl(self.dir / "run")):
            self.assertIsNone(rows[0]["val_loss"])
            self.assertIsNone(rows[0]["val_top1"])
        summary = results.read_summary(self.dir / "run")
        self.assertEqual([summary[key] for key in ("best_val_top1", "test_top1", "test_loss")], [None] * 3)


class EffectiveDeck(harness.KoloTest):
    """config.ini, and what --set does to it."""

    def test_fed_back_it_repeats_the_run_bit_for_bit(self):
        deck = self.write_deck(SMALL)
        self.train(deck, "first", ranks=2)
        self.train(self.dir / "first" / "config.ini", "second", ranks=2)
        first, second = (results.without_times(results.read_csv(self.dir / name)) for name in ("first", "second"))
        self.assertEqual(first, second)

    def test_set_beats_the_deck(self):
        self.train(self.write_deck(SMALL), "run", sets={"train.epochs": 1, "train.global_batch": 50})
        rows = results.read_csv(self.dir / "run")
        self.assertEqual([(row["epoch"], row["global_batch"]) for row in rows], [(1, 50)])
        self.assertRegex((self.dir / "run" / "config.ini").read_text(), r"(?m)^epochs = 1$")


class Output(harness.KoloTest):
    """What a run shows on its standard output."""

    def test_log_holds_all_of_it_and_no_control_characters(self):
        deck = self.write_deck(SMALL | {"run.progress": "auto"})
        result = self.train(deck, "run", ranks=2)
        self.assertEqual([c for c in result.out if ord(c) < 32 and c != "\n"], [])
        logged = []
        for line in (self.dir / "run" / "log.txt").read_text().splitlines():
            match = LOG_LINE.match(line)
            self.assertIsNotNone(match, line)
            logged.append(match.group(1))
        self.assertEqual(logged, result.out.splitlines())

    def test_ranks_are_listed_in_order_and_the_end_is_reported(self):
        out = self.train(self.write_deck(SMALL), "run", ranks=3).out
        self.assertEqual(re.findall(r"(?m)^ +(\d+)  \S+  pid \d+", out), ["0", "1", "2"])
        for word in ("plan", "global batch 32", "end: completed 2 epochs", "best ", "test ", "samples/s"):
            self.assertIn(word, out)

    def test_plain_progress_names_steps_and_none_does_not(self):
        deck = self.write_deck(SMALL)
        steps = r"(?m)^epoch \d+/\d+  step \d+/\d+"
        self.assertRegex(self.train(deck, "plain").out, steps)
        self.assertNotRegex(self.train(deck, "silent", sets={"run.progress": "none"}).out, steps)


    def test_bar_on_a_terminal(self):
        deck = self.write_deck(SMALL | {"run.progress": "auto", "data.samples": 5003, "train.global_batch": 8})
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                out = self.train(deck, f"run{ranks}", ranks=ranks, output="terminal").out
                self.assertRegex(out, r"\r\x1b\[K\[#*\.*\] epoch \d+/2  step \d+/")
                self.assertNotIn("\x1b", (self.dir / f"run{ranks}" / "log.txt").read_text())


class Ends(harness.KoloTest):
    """Ends other than the last epoch."""

    def test_divergence_is_an_error_of_its_own(self):
        deck = self.write_deck(SMALL | {"optimizer.lr": 1e30})
        for ranks in (0, 3):
            run = f"run{ranks}"
            result = self.train(deck, run, ranks=ranks, expect=6)
            self.require_error(result, 6, "step")
            summary = results.read_summary(self.dir / run)
            self.assertEqual((summary["reason"], summary["exit_code"]), ("diverged", 6))
            self.assertIn(result.error_lines[0], (self.dir / run / "log.txt").read_text())

    def test_error_line_is_not_glued_to_the_bar(self):
        deck = self.write_deck(SMALL | {"optimizer.lr": 1e30, "run.progress": "bar"})
        for ranks in (0, 2):
            result = self.train(deck, f"run{ranks}", ranks=ranks, output="terminal", expect=6)
            self.assertIn("\nkolo: error[6]: ", result.err)

    def test_early_stop(self):
        sets = {"train.early_stop_patience": 2, "train.early_stop_min_delta": 0.99, "train.epochs": 50}
        self.train(self.write_deck(SMALL), "run", ranks=2, sets=sets)
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1, 2, 3])
        self.assertEqual(results.read_summary(self.dir / "run")["reason"], "early_stop")

    def test_max_steps(self):
        self.train(self.write_deck(SMALL), "run", ranks=2, sets={"train.max_steps": 30})
        rows = results.read_csv(self.dir / "run")
        self.assertEqual([(row["epoch"], row["step"]) for row in rows], [(1, 23), (2, 30)])
        self.assertEqual(results.read_summary(self.dir / "run")["reason"], "max_steps")


class RunDirectory(harness.KoloTest):
    """A run directory belongs to one run, and to one live process."""

    def test_second_start_is_refused_and_changes_nothing(self):
        deck = self.write_deck(SMALL)
        self.train(deck, "run")
        files = [path for path in (self.dir / "run").rglob("*") if path.is_file() and path.name != ".lock"]
        before = {path: path.read_bytes() for path in files}
        self.require_error(self.train(deck, "run", ranks=2, expect=2), 2, "run")
        self.assertEqual(before, {path: path.read_bytes() for path in files})

    def test_file_in_its_place_is_refused(self):
        (self.dir / "run").write_text("precious")
        self.require_error(self.train(self.write_deck(SMALL), "run", expect=2), 2, "run", "not a directory")
        self.assertEqual((self.dir / "run").read_text(), "precious")

    def test_default_directory_is_named_after_the_deck(self):
        deck = self.write_deck(SMALL, "my_deck.ini")
        self.run_kolo("--input", deck, sets={"train.max_steps": 1})
        self.assertEqual(len(list((self.dir / "runs").glob("my_deck-*/config.ini"))), 1)

    def test_live_run_locks_its_directory(self):
        deck = self.write_deck(SMALL | {"train.epochs": 100000, "checkpoint.every_epochs": 0, "data.val_fraction": 0.1})
        first = self.start("--input", deck, "--run-dir", "run")
        first.wait_for_line(r"step \d+/\d+")
        refused = self.train(deck, "run", expect=5)
        self.require_error(refused, 5, "run", "in use")
        refused = self.run_kolo("--run-dir", "run", "--resume", "auto", expect=5)
        self.require_error(refused, 5, "run", "in use")
        first.signal(signal.SIGUSR1)
        result = first.finish()
        self.assertEqual(result.code, 75, str(result))


if __name__ == "__main__":
    harness.main()
