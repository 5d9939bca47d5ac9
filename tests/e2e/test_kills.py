"""Runs that are killed at random moments and resumed until they are done equal one that was left alone, bit for bit.

KOLO_KILLS (20) is the number of kills, KOLO_KILLS_SEED (the time) what draws the moments; tests/run.sh --kills N sets the first.
"""
import os
import random
import signal
import time
import unittest

import harness
import results
import undisturbed

KILLS = int(os.environ.get("KOLO_KILLS", "20"))
SEED = int(os.environ.get("KOLO_KILLS_SEED", str(time.time_ns())))
LONGEST_S = 1.8  # of a start: from before MPI to well into training
# Checkpoints come so often that a kill mostly meets one in the making.
DECK = {"run.progress": "none", "data.format": "synthetic", "data.samples": 2011, "data.test_samples": 101,
        "data.val_fraction": 0.05, "data.channels": 1, "data.height": 8, "data.width": 8, "data.flip": "true",
        "data.crop_padding": 1, "model.name": "mlp", "model.hidden": 64, "model.dropout": 0.1, "train.epochs": 24,
        "train.global_batch": 8, "optimizer.name": "adam", "optimizer.lr": 0.001, "schedule.name": "cosine",
        "checkpoint.every_steps": 40, "comm.timeout": 10}


@unittest.skipUnless(results.h5py, results.NO_H5PY)
class Kills(undisturbed.UndisturbedTest):
    """A rank, all of them or the launcher gets SIGKILL."""

    def setUp(self):
        super().setUp()
        self.draw = random.Random(SEED)
        self.deck = self.write_deck(DECK)

    def start_run(self, run):
        return self.start("--input", self.deck, "--run-dir", run, "--resume", "auto", ranks=2)

    def kill_somewhere(self, job):
        """One victim, or all at once; nothing if the run was faster."""
        processes = job.processes()
        ranks = [pid for pid, env in processes.items() if "OMPI_COMM_WORLD_RANK" in env]
        victim = self.draw.choice(("rank", "rank", "launcher", "all"))
        if victim == "rank" and ranks:
            pids = [self.draw.choice(ranks)]
        else:
            pids = [pid for pid in processes if victim != "launcher" or pid not in ranks]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def test_killed_and_resumed_until_it_is_done(self):
        print(f"{KILLS} kills, seed {SEED}", flush=True)
        self.train(self.deck, "undisturbed", ranks=2)
        kills = finished = 0
        while kills < KILLS or finished == 0:
            run = f"run{finished}"
            job = self.start_run(run)
            if kills < KILLS:
                time.sleep(self.draw.uniform(0, LONGEST_S))
                self.kill_somewhere(job)
            result = job.finish(killed=True)
            self.assertNotIn("damaged", result.out + result.err, str(result))
            if result.code == 0:
                self.require_equal(run, "undisturbed")
                left = [path.name for path in (self.dir / run).rglob("*") if ".tmp-" in path.name]
                self.assertEqual(left, [])
                finished += 1
            else:
                self.assertLessEqual(len(result.error_lines), 1, str(result))
                kills += 1
        print(f"{kills} kills, {finished} runs finished", flush=True)


if __name__ == "__main__":
    harness.main()
