"""kolo bench: what it prints, writes and refuses.  No test looks at a speed."""
import json
import os
import threading

import datasets
import harness

ROW_KEYS = ["type", "strategy", "bytes", "elements", "time_us", "algbw_gb_s", "busbw_gb_s", "plain_mpi_us",
            "percent_of_copy_limit", "correct"]
DATA_KEYS = ["samples_per_s", "samples_per_s_per_rank", "batch_per_rank", "ranks", "prefetch", "wait_ms", "wait_p95_ms",
             "bytes_per_s"]
STEP_KEYS = ["samples_per_s", "step_ms", "step_p95_ms", "step_ms_without_exchange", "data_ms", "forward_ms",
             "backward_ms", "exchange_ms", "update_ms", "move_limit_ms", "ranks", "threads", "batch_per_rank",
             "accumulate", "strategy", "model", "optimizer", "parameters"]
CHECKPOINT_KEYS = ["bytes", "wait_ms", "copy_ms", "image_ms", "write_ms", "plain_write_ms", "write_bytes_per_s",
                   "plain_bytes_per_s", "write_ratio", "background_ratio", "model", "parameters"]
ELEMENT_BYTES = {"fp32": 4, "fp64": 8}
FEW = ("--steps", 3, "--warmup", 1)


class Bench(harness.KoloTest):
    """Starts benchmarks and reads their JSON."""

    def bench(self, topic, *arguments, **options):
        """Returns the finished run and its JSON."""
        result = self.run_kolo("bench", topic, *FEW, "--json", "bench.json", *arguments, **options)
        return result, json.loads((self.dir / "bench.json").read_text())


class Train(Bench):
    """kolo bench train."""

    SMALL = {"model.name": "mlp", "model.hidden": 16, "data.height": 8, "data.width": 8, "train.batch_per_rank": 6}

    def require_times(self, found):
        self.assertEqual(list(found), STEP_KEYS)
        parts = sum(found[f"{part}_ms"] for part in ("data", "forward", "backward", "exchange", "update"))
        self.assertGreater(found["samples_per_s"], 0)
        self.assertGreater(found["update_ms"], 0)
        self.assertGreater(found["exchange_ms"], 0)  # the copies into the arena, even of a rank alone
        self.assertGreaterEqual(found["step_p95_ms"], found["step_ms"])
        self.assertLess(parts, 20 * found["step_ms"])

    def test_both_strategies_and_one_rank(self):
        for ranks, sets, strategy in ((1, {}, "allreduce"), (2, {}, "shared"),
                                      (3, {"comm.strategy": "allreduce"}, "allreduce")):
            found = self.bench("train", ranks=ranks, sets=self.SMALL | sets)[1]
            self.require_times(found)
            self.assertEqual((found["ranks"], found["threads"], found["batch_per_rank"], found["accumulate"]),
                             (ranks, 1, 6, 1))
            self.assertEqual((found["strategy"], found["model"], found["optimizer"]), (strategy, "mlp", "sgd"))
            self.assertEqual(found["parameters"], 3 * 8 * 8 * 16 + 16 + 16 * 10 + 10)
            self.assertEqual(found["move_limit_ms"] > 0, strategy == "shared")

    def test_passes_clipping_and_fp64(self):
        sets = {"train.accumulate": 3, "train.clip_norm": 0.1, "run.dtype": "fp64", "optimizer.name": "adamw"}
        found = self.bench("train", ranks=2, sets=self.SMALL | sets)[1]
        self.require_times(found)
        self.assertEqual((found["batch_per_rank"], found["accumulate"]), (6, 3))

    def test_a_learning_rate_that_diverges_is_measured_all_the_same(self):
        found = self.bench("train", ranks=2, sets=self.SMALL | {"optimizer.lr": 1e30, "optimizer.name": "sgd"})[1]
        self.require_times(found)

    def test_json_goes_into_a_pipe_and_through_a_link(self):
        os.mkfifo(self.dir / "pipe")
        read = []
        reader = threading.Thread(target=lambda: read.append((self.dir / "pipe").read_text()), daemon=True)
        reader.start()
        self.run_kolo("bench", "train", *FEW, "--json", "pipe", ranks=1, sets=self.SMALL)
        reader.join(60)
        self.assertEqual(list(json.loads(read[0])), STEP_KEYS)
        (self.dir / "target.json").write_text("old")
        (self.dir / "link.json").symlink_to("target.json")
        self.run_kolo("bench", "train", *FEW, "--json", "link.json", ranks=1, sets=self.SMALL)
        self.assertTrue((self.dir / "link.json").is_symlink())
        self.assertEqual(list(json.loads((self.dir / "target.json").read_text())), STEP_KEYS)


class Allreduce(Bench):
    """kolo bench allreduce."""

    def test_measures_every_size_type_and_strategy(self):
        result, found = self.bench("allreduce", "--max-bytes", "64K", ranks=2)
        self.assertEqual((found["ranks"], found["nodes"]), (2, 1))
        rows = found["rows"]
        expected = [(kind, strategy, size) for kind in ELEMENT_BYTES for strategy in ("shared", "allreduce")
                    for size in (4096, 16384, 65536)]
        self.assertEqual([(row["type"], row["strategy"], row["bytes"]) for row in rows], expected)
        for row in rows:
            self.assertEqual(list(row), ROW_KEYS)
            self.assertIs(row["correct"], True, row)
            self.assertEqual(row["elements"] * ELEMENT_BYTES[row["type"]], row["bytes"])
            for key in ("time_us", "plain_mpi_us", "percent_of_copy_limit"):
                self.assertGreater(row[key], 0, row)
            self.assertAlmostEqual(row["algbw_gb_s"], row["bytes"] / row["time_us"] / 1e3, 6)
            self.assertAlmostEqual(row["busbw_gb_s"], row["algbw_gb_s"], 9)  # 2 (n - 1) / n is 1 for two ranks
        lines = [line for line in result.out.splitlines() if line.endswith(" ok")]
        self.assertEqual([(line.split()[0], line.split()[1], int(line.split()[2])) for line in lines], expected)

    def test_the_bus_moves_more_with_more_ranks(self):
        rows = self.bench("allreduce", "--min-bytes", 1000, "--max-bytes", 1000, ranks=4)[1]["rows"]
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertIs(row["correct"], True, row)
            self.assertAlmostEqual(row["busbw_gb_s"] / row["algbw_gb_s"], 1.5, 6)

    def test_measures_only_the_type_and_strategy_that_are_set(self):
        rows = self.bench("allreduce", "--min-bytes", "3K", "--max-bytes", "20K", ranks=2,
                          sets={"run.dtype": "fp64", "comm.strategy": "allreduce"})[1]["rows"]
        self.assertEqual([(row["type"], row["strategy"], row["bytes"]) for row in rows],
                         [("fp64", "allreduce", size) for size in (3072, 12288, 20480)])

    def test_one_rank_has_nothing_to_share_and_says_so(self):
        result, found = self.bench("allreduce", "--max-bytes", "4K")
        self.assertEqual({row["strategy"] for row in found["rows"]}, {"allreduce"})
        self.assertIn("not measured: no node has more than one rank", result.out)

    def test_messages_larger_than_memory_are_not_tried(self):
        result, found = self.bench("allreduce", "--min-bytes", "60G", "--max-bytes", "64G", ranks=2)
        self.assertEqual(found["rows"], [])
        self.assertIn("are not measured: about", result.out)

    def test_sizes_that_contradict_are_refused(self):
        result = self.start("bench", "allreduce", "--min-bytes", "8K", "--max-bytes", "4K", ranks=2).finish()
        self.require_error(result, 2, "--max-bytes")


class Data(Bench):
    """kolo bench data."""

    def require_rates(self, found, ranks, batch, pixel_bytes):
        """All fields, and that they agree with each other."""
        self.assertEqual(list(found), DATA_KEYS)
        self.assertEqual((found["ranks"], found["batch_per_rank"]), (ranks, batch))
        self.assertGreater(found["samples_per_s"], 0)
        self.assertAlmostEqual(found["samples_per_s_per_rank"] * ranks / found["samples_per_s"], 1)
        self.assertAlmostEqual(found["bytes_per_s"] / found["samples_per_s"] / pixel_bytes, 1)
        self.assertGreaterEqual(found["wait_p95_ms"], found["wait_ms"])

    def test_without_a_deck_makes_batches_of_64_synthetic_images(self):
        result, found = self.bench("data", ranks=2)
        self.require_rates(found, 2, 64, 3 * 32 * 32 * 4)
        self.assertEqual(found["prefetch"], 4)
        self.assertIn("3x32x32", result.out)
        self.assertIn("16 steps after 4 of warm-up", result.out)  # what four batches made ahead ask for

    def test_reads_the_deck_s_data_over_several_epochs(self):
        images = datasets.write_idx(self.dir / "set", count=61)
        deck = self.write_deck({"data.format": "idx", "data.path": images.parent, "data.prefetch": 2,
                                "train.global_batch": 12, "run.dtype": "fp64"})
        result, found = self.bench("data", "--input", deck, ranks=2)
        self.require_rates(found, 2, 6, 8 * 8 * 8)
        self.assertEqual(found["prefetch"], 2)
        self.assertIn("61 samples of 1x8x8", result.out)

    def test_ranks_that_a_small_set_leaves_without_samples_wait_for_the_others(self):
        found = self.bench("data", ranks=3, sets={"data.samples": 2, "train.batch_per_rank": 5})[1]
        self.require_rates(found, 3, 5, 3 * 32 * 32 * 4)

    def test_a_missing_set_is_one_error(self):
        result = self.start("bench", "data", "--json", "bench.json", ranks=2,
                            sets={"data.format": "idx", "data.path": "nowhere"}).finish()
        self.require_error(result, 3, "nowhere")
        self.assertFalse((self.dir / "bench.json").exists())

    def test_a_batch_smaller_than_the_world_is_one_error(self):
        result = self.start("bench", "data", ranks=3, sets={"train.global_batch": 2}).finish()
        self.require_error(result, 2, "train.global_batch", 2, 3)


class Checkpoint(Bench):
    """kolo bench checkpoint."""

    SMALL = Train.SMALL

    def test_measures_the_wait_and_the_writing_and_leaves_nothing(self):
        (self.dir / "disk").mkdir()
        for ranks in (0, 2):
            result, found = self.bench("checkpoint", "--directory", "disk", ranks=ranks, sets=self.SMALL)
            self.assertEqual(list(found), CHECKPOINT_KEYS)
            self.assertGreater(min(found[key] for key in CHECKPOINT_KEYS if key.endswith(("_ms", "_s", "ratio"))), 0)
            self.assertIn("training waits", result.out)
            # mlp of 3x8x8 -> 16 -> 10 in fp32, and its momentum
            self.assertEqual(found["parameters"], 192 * 16 + 16 + 16 * 10 + 10)
            self.assertGreater(found["bytes"], 2 * 4 * found["parameters"])
            self.assertEqual(list((self.dir / "disk").iterdir()), [])

    def test_a_directory_that_cannot_be_written_is_one_error(self):
        result = self.run_kolo("bench", "checkpoint", *FEW, "--directory", "absent", ranks=2, sets=self.SMALL, expect=2)
        self.require_error(result, 2, "--directory absent", "No such file")


if __name__ == "__main__":
    harness.main()
