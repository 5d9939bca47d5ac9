"""kolo inspect and kolo verify: what they say about the files of a run, whole and damaged.

What is inside a file is compared with h5py's reading of it where h5py is installed.
"""
import json
import os
import signal
import unittest

import harness
import results

DECK = {"run.progress": "none", "data.format": "synthetic", "data.samples": 60, "data.val_fraction": 0.2,
        "data.channels": 1, "data.height": 8, "data.width": 8, "model.name": "mlp", "model.hidden": 8,
        "train.epochs": 3, "train.global_batch": 12, "optimizer.name": "adam"}
STEPS = 12  # 48 samples for training are 4 steps an epoch


def flip_bit(path):
    """Changes one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def snapshot(directory):
    """{path: (size, time of change)} of all that is in a directory."""
    return {path: (path.lstat().st_size, path.lstat().st_ctime_ns) for path in directory.rglob("*")}


class FinishedRun(harness.KoloTest):
    """A test with a run of three epochs in self.run_dir, which keeps all checkpoints."""

    def setUp(self):
        super().setUp()
        self.run_dir = self.dir / "run"
        self.train(self.write_deck(DECK | {"checkpoint.every_epochs": 1, "checkpoint.keep": 10}), "run", ranks=2)
        self.last = self.run_dir / "checkpoints" / "last.h5"

    def look(self, command, target, *arguments, **options):
        """inspect or verify with a JSON report; returns the run and the report."""
        result = self.run_kolo(command, target, "--json", "report.json", *arguments, threads=None, **options)
        return result, json.loads((self.dir / "report.json").read_text())


class Inspect(FinishedRun):
    """Single files."""

    def test_checkpoint(self):
        result, report = self.look("inspect", self.last)
        self.assertEqual((report["whole"], report["kind"]), (True, "checkpoint"))
        self.assertEqual(report["bytes"], self.last.stat().st_size)
        self.assertEqual((report["format"]["version"], report["format"]["creator"]), (1, "kolo"))
        progress = report["progress"]
        self.assertEqual([progress[key] for key in ("step", "epoch", "step_in_epoch", "world_size", "global_batch")],
                         [STEPS, 3, 0, 2, 12])
        self.assertEqual(report["deck"]["model.name"], "mlp")
        self.assertEqual([group["name"] for group in report["groups"]],
                         ["model", "buffers", "optimizer/exp_avg", "optimizer/exp_avg_sq"])
        parameters = results.read_summary(self.run_dir)["parameters"]
        self.assertEqual([group["elements"] for group in report["groups"]], [parameters, 0, parameters, parameters])
        self.assertNotIn("tensors", report)
        for text in ("whole", f"after step {STEPS}", "model.name = mlp", "optimizer/exp_avg_sq", f"{parameters:,}"):
            self.assertIn(text, result.out, str(result))

    def test_metrics_of_a_checkpoint_and_of_their_own_file(self):
        row = {name: value for name, value in results.read_jsonl(self.run_dir)[-1].items()}
        for path in (self.last, self.run_dir / "metrics.h5"):
            with self.subTest(path=path):
                metrics = self.look("inspect", path)[1]["metrics"]
                self.assertEqual(metrics["rows"], 3)
                self.assertEqual(metrics["last_row"], row)
        self.assertEqual(self.look("inspect", self.run_dir / "metrics.h5")[1]["kind"], "metrics")

    @unittest.skipUnless(results.h5py, results.NO_H5PY)
    def test_tensors_are_those_h5py_reads(self):
        result, report = self.look("inspect", self.last, "--tensors")
        with results.h5py.File(self.last) as file:
            paths = [f"/{group}/{name}" for group in ("model", "optimizer/exp_avg", "optimizer/exp_avg_sq")
                     for name in file[group]]
            self.assertEqual(sorted(tensor["path"] for tensor in report["tensors"]), sorted(paths))
            for tensor in report["tensors"]:
                values = file[tensor["path"]][()]
                self.assertEqual(tuple(tensor["shape"]), values.shape)
                self.assertEqual([tensor[key] for key in ("elements", "zeros", "non_finite", "min", "max")],
                                 [values.size, int((values == 0).sum()), 0, float(values.min()), float(values.max())])
                self.assertAlmostEqual(tensor["mean"], float(values.mean(dtype="float64")), 12)
                self.assertIn(tensor["path"], result.out)

    def test_damaged_file(self):
        target = self.last.resolve()
        flip_bit(target)
        result, report = self.look("inspect", self.last, expect=4)
        self.require_error(result, 4, "last.h5", "damaged", "checksum")
        self.assertEqual(report["whole"], False)
        self.assertIn("checksum", report["reason"])
        target.write_bytes(b"")
        self.require_error(self.run_kolo("inspect", self.last, expect=4, threads=None), 4, "last.h5", "0 bytes")

    def test_hdf5_file_of_another_program(self):
        foreign = self.dir / "foreign.h5"
        foreign.write_bytes(self.last.read_bytes()[512:])
        result = self.run_kolo("inspect", foreign, expect=4, threads=None)
        self.require_error(result, 4, "foreign.h5", "not a file of kolo's")
        self.assertIn("user block", result.err)

    def test_directory_and_pipe_and_missing_file(self):
        result = self.run_kolo("inspect", self.run_dir, expect=2, threads=None)
        self.require_error(result, 2, "is a directory")
        self.assertIn("kolo verify", result.err)
        os.mkfifo(self.dir / "pipe")
        self.require_error(self.run_kolo("inspect", "pipe", expect=4, threads=None), 4, "pipe")
        self.require_error(self.run_kolo("inspect", "absent.h5", expect=4, threads=None), 4, "absent.h5")

    def test_report_does_not_replace_the_file(self):
        before = self.last.read_bytes()
        result = self.run_kolo("inspect", self.last, "--json", self.last, expect=2, threads=None)
        self.require_error(result, 2, "--json")
        self.assertEqual(self.last.read_bytes(), before)

    def test_output_that_is_lost_is_an_error(self):
        into_full = ("sh", "-c", 'exec "$@" >/dev/full', "sh")
        for arguments in (("inspect", self.last), ("verify", "run"), ("--help",), ("--version",),
                          ("check", "--input", "run/config.ini")):
            result = self.run_kolo(*arguments, before=into_full, threads=None, expect=2)
            self.require_error(result, 2, "standard output cannot be written")

    def test_of_many_copies_one_speaks(self):
        result = self.run_kolo("inspect", self.last, ranks=3, threads=None)
        self.assertEqual(result.out.count("position"), 1, str(result))


class Verify(FinishedRun):
    """Run directories."""

    def states(self, report):
        return {file["name"]: file["state"] for file in report["files"]}

    def damaged(self, report):
        return sorted(name for name, state in self.states(report).items() if state == "damaged")

    def test_finished_run(self):
        before = snapshot(self.run_dir)
        result, report = self.look("verify", "run")
        self.assertEqual(report["whole"], True)
        self.assertEqual(set(self.states(report).values()), {"ok"}, str(result))
        self.assertLessEqual({"config.ini", "metrics.csv", "metrics.jsonl", "metrics.h5", "summary.json",
                              "checkpoints/last.h5", "checkpoints/best.h5"}, set(self.states(report)))
        self.assertEqual(report["resume"], {"checkpoint": f"checkpoints/step_{STEPS:09}.h5", "step": STEPS, "epoch": 3})
        self.assertIsNone(report["in_use_by"])
        self.assertEqual(result.out.splitlines()[-1],
                         f"run: whole; a resume goes on from checkpoints/step_{STEPS:09}.h5 (step {STEPS})")
        self.assertEqual(snapshot(self.run_dir), before)

    def test_damaged_checkpoint(self):
        newest = self.last.resolve()
        flip_bit(newest)
        result, report = self.look("verify", "run", expect=4)
        self.require_error(result, 4, f"{len(self.damaged(report))} of", "damaged", newest.name, "checksum")
        self.assertIn(f"fall back to checkpoints/step_{STEPS - 4:09}.h5", result.err)
        self.assertIn(f"checkpoints/{newest.name}", self.damaged(report))
        self.assertIn("checkpoints/last.h5", self.damaged(report))
        self.assertEqual(report["resume"]["step"], STEPS - 4)
        # The promise is kept.
        self.train("run/config.ini", "run", "--resume", "required", ranks=2)
        self.assertEqual(self.look("verify", "run")[1]["resume"]["step"], STEPS)

    def test_changed_metrics(self):
        path = self.run_dir / "metrics.csv"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([lines[0], lines[1].replace("1,", "7,", 1), *lines[2:]]))
        result, report = self.look("verify", "run", expect=4)
        self.assertEqual(self.damaged(report), ["metrics.csv"])
        self.require_error(result, 4, "1 of", "metrics.csv", "row 1", "epoch")
        self.assertIn("--resume auto would go on from", result.err)

    def test_no_run_directory(self):
        (self.dir / "empty").mkdir()
        for name in ("empty", "absent", "deck.ini"):
            self.require_error(self.run_kolo("verify", name, expect=2, threads=None), 2, name)

    def test_report_inside_the_directory_is_refused(self):
        result = self.run_kolo("verify", "run", "--json", "run/report.json", expect=2, threads=None)
        self.require_error(result, 2, "--json", "run/report.json")


class KilledRun(harness.KoloTest):
    """Runs that did not end by themselves."""

    def test_live_and_killed_run(self):
        deck = self.write_deck(DECK | {"train.epochs": 1000000, "run.progress": "plain", "run.progress_seconds": 0.001})
        job = self.start("--input", deck, "--run-dir", "run")
        job.wait_for_line(r"epoch +3\b")
        result = self.run_kolo("verify", "run", threads=None)
        self.assertRegex(result.out, r"in use by process \d+ on ")
        job.signal(signal.SIGKILL)
        job.finish()
        result = self.run_kolo("verify", "run", threads=None)
        self.assertNotIn("in use by", result.out)
        self.assertRegex(result.out.splitlines()[-1], r"^run: whole; a resume goes on from ")


if __name__ == "__main__":
    harness.main()
