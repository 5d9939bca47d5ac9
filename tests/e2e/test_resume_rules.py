"""Which runs may be resumed, with what, and by how many ranks."""
import os
import signal

import harness
import results

DECK = {"run.progress": "none", "run.dtype": "fp64", "data.format": "synthetic", "data.samples": 1009,
        "data.test_samples": 101, "data.val_fraction": 0.1, "data.channels": 1, "data.height": 8, "data.width": 8,
        "data.flip": "true", "model.name": "mlp", "model.hidden": 16, "train.epochs": 3, "train.global_batch": 30,
        "optimizer.name": "adam", "optimizer.lr": 0.001}
STEPS_AN_EPOCH = 31


class ResumeRules(harness.KoloTest):
    """--resume, and decks that changed."""

    def setUp(self):
        super().setUp()
        self.deck = self.write_deck(DECK)

    def stop_after_one_epoch(self, run, **options):
        return self.run_kolo("--input", self.deck, "--run-dir", run, "--stop-after-epochs", 1, expect=75, **options)

    def test_auto_begins_where_there_is_nothing(self):
        self.run_kolo("--input", self.deck, "--run-dir", "run", "--resume", "auto", ranks=2, sets={"train.epochs": 1})
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1])

    def test_required_refuses_where_there_is_nothing(self):
        (self.dir / "empty").mkdir()
        for run in ("absent", "empty"):
            result = self.run_kolo("--input", self.deck, "--run-dir", run, "--resume", "required", ranks=2, expect=4)
            self.require_error(result, 4, run)
        self.assertFalse((self.dir / "absent").exists())
        self.assertFalse((self.dir / "empty" / "config.ini").exists())

    def test_rank_counts_may_change(self):
        self.train(self.deck, "undisturbed", ranks=2)
        self.train(self.deck, "run", ranks=2, sets={"train.max_steps": 12})
        more = self.run_kolo("--run-dir", "run", "--resume", "required", ranks=3, sets={"train.max_steps": 45})
        self.assertIn("the number of ranks was 2, now 3", more.out)
        self.run_kolo("--run-dir", "run", "--resume", "required", sets={"train.max_steps": 0})
        one, other = self.dir / "run", self.dir / "undisturbed"
        for name in ("train_loss", "val_loss"):
            pair = (results.column(run, name) for run in (one, other))
            self.assertLessEqual(results.largest_relative_difference(*pair), 1e-10, name)
        for name in ("epoch", "step", "lr", "train_top1", "val_top1", "global_batch"):
            self.assertEqual(results.column(one, name), results.column(other, name), name)
        self.assertEqual(results.column(one, "step"), [STEPS_AN_EPOCH * epoch for epoch in (1, 2, 3)])

    def test_batch_per_rank_decks_keep_their_global_batch(self):
        deck = self.write_deck({key: value for key, value in DECK.items() if key != "train.global_batch"} |
                               {"train.batch_per_rank": 15}, "per_rank.ini")
        self.run_kolo("--input", deck, "--run-dir", "run", "--stop-after-epochs", 1, ranks=2, expect=75)
        self.run_kolo("--input", deck, "--run-dir", "run", "--resume", "required", ranks=3)
        self.train(self.deck, "undisturbed", ranks=2)
        self.assertEqual(results.column(self.dir / "run", "global_batch"), [30, 30, 30])
        pair = (results.column(self.dir / run, "train_loss") for run in ("run", "undisturbed"))
        self.assertLessEqual(results.largest_relative_difference(*pair), 1e-10)

    def test_stored_deck_with_accumulation_fits_other_rank_counts(self):
        deck = self.write_deck({key: value for key, value in DECK.items() if key != "train.global_batch"} |
                               {"train.batch_per_rank": 5, "train.accumulate": 3}, "accumulate.ini")
        self.run_kolo("--input", deck, "--run-dir", "run", "--stop-after-epochs", 1, ranks=2, expect=75)
        for ranks in (1, 2, 3, 4):
            plan = self.run_kolo("check", "--input", "run/config.ini", ranks=ranks).out
            self.assertIn("global batch 30", plan)
        self.run_kolo("--run-dir", "run", "--resume", "required", ranks=3)
        self.assertEqual(results.column(self.dir / "run", "global_batch"), [30, 30, 30])

    def lose_best(self, spoil):
        """A run of two epochs of which the first was the better one, and its checkpoint spoilt; its name."""
        deck = self.write_deck(DECK | {"optimizer.lr": 1e-12, "train.early_stop_patience": 2}, "idle.ini")
        self.run_kolo("--input", deck, "--run-dir", "run", "--stop-after-epochs", 2, expect=75)
        best = (self.dir / "run" / "checkpoints" / "best.h5").resolve()
        self.assertEqual(best.name, f"step_{STEPS_AN_EPOCH:09}.h5")
        spoil(best)
        return best.name

    def require_second_epoch_is_best(self, out, name, flaw):
        self.assertRegex(out, rf"warning: the best checkpoint so far, .*{name}, {flaw}.*: the best is now that of step "
                              rf"{2 * STEPS_AN_EPOCH}\n")
        summary = results.read_summary(self.dir / "run")
        self.assertEqual((summary["best_epoch"], summary["reason"]), (2, "early_stop"))
        self.assertIsNotNone(summary["test_top1"])
        # The first epoch still counts for early stopping: without gain since, the third is the last.
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1, 2, 3])

    def test_lost_best_checkpoint_is_replaced_by_the_next_best(self):
        name = self.lose_best(lambda best: best.unlink())
        out = self.run_kolo("--run-dir", "run", "--resume", "required").out
        self.require_second_epoch_is_best(out, name, "is gone")

    def test_damaged_best_checkpoint_is_replaced_by_the_next_best(self):
        def spoil(best):
            content = bytearray(best.read_bytes())
            content[-1] ^= 4
            best.write_bytes(content)
        name = self.lose_best(spoil)
        out = self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2).out
        self.require_second_epoch_is_best(out, name, r"cannot be used \(.*damaged")

    def test_best_checkpoint_with_the_content_of_another_is_replaced(self):
        def spoil(best):
            best.write_bytes(best.with_name(f"step_{2 * STEPS_AN_EPOCH:09}.h5").read_bytes())
        name = self.lose_best(spoil)
        out = self.run_kolo("--run-dir", "run", "--resume", "required").out
        self.require_second_epoch_is_best(out, name, rf"cannot be used \(.*holds step {2 * STEPS_AN_EPOCH}")

    def test_run_that_was_killed_before_its_first_checkpoint_begins_anew(self):
        deck = self.write_deck(DECK | {"data.val_fraction": 0, "checkpoint.every_epochs": 0, "train.epochs": 1000000,
                                       "run.progress": "plain"}, "endless.ini")
        job = self.start("--input", deck, "--run-dir", "run", ranks=2)
        job.wait_for_line("epoch 5/")
        for pid in job.processes():
            os.kill(pid, signal.SIGKILL)
        job.finish(killed=True)
        out = self.run_kolo("--run-dir", "run", "--resume", "auto", ranks=2, sets={"train.epochs": 2}).out
        self.assertIn("the run begins anew", out)
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1, 2])

    def test_finished_run_without_its_best_checkpoint_does_not_test_the_last_model_as_the_best(self):
        deck = self.write_deck(DECK | {"optimizer.lr": 1e-12}, "idle.ini")
        self.train(deck, "run")
        (self.dir / "run" / "checkpoints" / "best.h5").resolve().unlink()
        val = results.column(self.dir / "run", "val_top1")
        self.run_kolo("--run-dir", "run", "--resume", "auto")
        summary = results.read_summary(self.dir / "run")
        self.assertEqual(summary["best_val_top1"], val[summary["best_epoch"] - 1])
        self.assertIn(summary["best_epoch"], (2, 3))

    def test_what_a_cut_or_lost_deck_lacks_comes_from_the_checkpoint(self):
        settings = {"checkpoint.keep": 30, "checkpoint.every_steps": 8}
        self.run_kolo("--input", self.deck, "--run-dir", "run", "--stop-after-epochs", 1, sets=settings, expect=75)
        deck, checkpoints = self.dir / "run" / "config.ini", self.dir / "run" / "checkpoints"
        whole = deck.read_text()
        # The second ends in a line that can be read, but says something else.
        cuts = (("lacks keys", whole[:whole.index("[checkpoint]")]), ("lacks keys", whole[:whole.index("keep = 30") + 8]),
                ("is missing", None))
        for words, text in cuts:
            if text is None:
                deck.unlink()
            else:
                deck.write_text(text)
            before = {path.name for path in checkpoints.glob("step_*")}
            out = self.run_kolo("--run-dir", "run", "--resume", "required", "--stop-after-epochs", 1,
                                sets={"train.epochs": 9}, expect=75).out
            self.assertIn(f"config.ini' {words}", out)
            self.assertLess(before, {path.name for path in checkpoints.glob("step_*")})
            self.assertEqual([line for line in deck.read_text().splitlines() if not line.startswith("epochs")],
                             [line for line in whole.splitlines() if not line.startswith("epochs")])

    def test_checkpoint_with_the_name_of_another_step_is_passed_over(self):
        self.stop_after_one_epoch("run")
        checkpoints = self.dir / "run" / "checkpoints"
        newest = checkpoints / f"step_{STEPS_AN_EPOCH:09}.h5"
        (checkpoints / "step_000000900.h5").write_bytes(newest.read_bytes())
        out = self.run_kolo("--run-dir", "run", "--resume", "auto").out
        self.assertRegex(out, rf"step_000000900.h5' holds step {STEPS_AN_EPOCH}, not that of its name")
        self.assertIn(f"resuming from run/checkpoints/{newest.name}", out)
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1, 2, 3])

    def test_refused_start_changes_nothing(self):
        self.stop_after_one_epoch("run")
        run = self.dir / "run"
        (run / "STOP").touch()
        (run / "checkpoints" / "best.h5").unlink()

        def content():
            return {path: os.readlink(path) if path.is_symlink() else path.read_bytes()
                    for path in run.rglob("*") if path.name != ".lock" and not path.is_dir()}
        before = content()
        for sets in ({"optimizer.lr": 0.5}, {"train.epochs": 0}, {"run.seed": 3}, {"train.global_batch": 31}):
            self.start("--run-dir", "run", "--resume", "required", ranks=2, sets=sets).finish()
            self.assertEqual(content(), before, sets)
        self.assertIn("removing a STOP file", self.run_kolo("--run-dir", "run", "--resume", "required").out)

    def test_resuming_needs_a_directory(self):
        for resume in ("auto", "required"):
            result = self.run_kolo("--input", self.deck, "--resume", resume, ranks=2, expect=2)
            self.require_error(result, 2, f"--resume {resume}", "--run-dir")
        self.assertFalse((self.dir / "runs").exists())

    def test_start_after_one_that_wrote_no_checkpoint_says_so(self):
        (self.dir / "run").mkdir()
        (self.dir / "run" / "config.ini").write_text(self.deck.read_text())
        out = self.run_kolo("--run-dir", "run", "--resume", "auto", sets={"train.epochs": 1}).out
        self.assertIn("wrote no checkpoint: the run begins anew", out)

    def test_another_evaluation_batch_is_not_called_bit_exact(self):
        self.stop_after_one_epoch("run")
        out = self.run_kolo("--run-dir", "run", "--resume", "required", sets={"train.eval_batch": 7}).out
        self.assertRegex(out, r"not bit-exact: train.eval_batch was \d+, now 7")

    def test_dropout_on_other_ranks_is_called_another_computation(self):
        deck = self.write_deck(DECK | {"model.dropout": 0.3}, "dropout.ini")
        self.run_kolo("--input", deck, "--run-dir", "run", "--stop-after-epochs", 1, expect=75)
        out = self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2).out
        self.assertIn("another computation, not only other roundings: dropout masks are drawn by each rank", out)

    def test_fewer_epochs_than_were_done_are_refused(self):
        self.stop_after_one_epoch("run")
        self.run_kolo("--run-dir", "run", "--resume", "required", "--stop-after-epochs", 1, expect=75)
        result = self.run_kolo("--run-dir", "run", "--resume", "required", sets={"train.epochs": 1}, expect=2)
        self.require_error(result, 2, "train.epochs = 1", "already done 2")

    def test_longer_cosine_schedule_is_not_called_bit_exact(self):
        deck = self.write_deck(DECK | {"schedule.name": "cosine"}, "cosine.ini")
        self.run_kolo("--input", deck, "--run-dir", "run", "--stop-after-epochs", 1, expect=75)
        out = self.run_kolo("--run-dir", "run", "--resume", "required", sets={"train.epochs": 4}).out
        self.assertRegex(out, r"not bit-exact: the length of the training in steps was 93, now 124")
        self.assertNotIn("augmentation, learning rates", out)

    def test_stop_file_from_before_the_start_is_removed_and_named(self):
        self.stop_after_one_epoch("run")
        (self.dir / "run" / "STOP").touch()
        out = self.run_kolo("--run-dir", "run", "--resume", "required").out
        self.assertIn("removing a STOP file", out)
        self.assertFalse((self.dir / "run" / "STOP").exists())

    def test_refused_start_leaves_no_directory(self):
        result = self.run_kolo("--input", self.deck, "--run-dir", "run", "--resume", "auto", ranks=3,
                               sets={"train.global_batch": 2}, expect=2)
        self.require_error(result, 2, "train.global_batch")
        self.assertFalse((self.dir / "run").exists())

    def test_changed_key_is_refused_with_both_values(self):
        self.stop_after_one_epoch("run")
        before = results.read_csv(self.dir / "run")
        for key, old, new in (("optimizer.lr", "0.001", "0.003"), ("model.hidden", "16", "20"),
                              ("train.global_batch", "30", "60"), ("run.seed", "1", "2")):
            result = self.run_kolo("--input", self.deck, "--run-dir", "run", "--resume", "required", ranks=2, expect=2,
                                   sets={key: new})
            self.require_error(result, 2, key, old, new)
            if key != "train.global_batch":
                self.assertIn("may change: run.threads", result.err)
        self.assertEqual(results.read_csv(self.dir / "run"), before)
        self.assertEqual(results.read_summary(self.dir / "run")["exit_code"], 75)

    def test_changed_data_are_refused(self):
        self.stop_after_one_epoch("run")
        result = self.start("--run-dir", "run", "--resume", "required", sets={"data.samples": 1010}).finish()
        self.require_error(result, result.code, "data")
        self.assertIn(result.code, (2, 4))

    def test_keys_that_change_no_number_may_change(self):
        self.stop_after_one_epoch("run")
        self.run_kolo("--input", self.deck, "--run-dir", "run", "--resume", "required",
                      sets={"train.epochs": 2, "run.progress": "plain", "checkpoint.keep": 1, "data.prefetch": 1})
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1, 2])
        self.assertEqual(len(list((self.dir / "run" / "checkpoints").glob("step_*.h5"))),
                         len({os.path.realpath(self.dir / "run" / "checkpoints" / name) for name in ("last.h5", "best.h5")}))

    def test_another_strategy_is_not_called_bit_exact(self):
        self.stop_after_one_epoch("run", ranks=2, sets={"comm.strategy": "allreduce"})
        out = self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2, sets={"comm.strategy": "shared"}).out
        self.assertRegex(out, r"not bit-exact: .*strategy was allreduce, now shared")
        self.assertNotIn("is bit-exact", out)

    def test_finished_run_resumes_to_the_same_end(self):
        self.train(self.deck, "run")
        rows, summary = results.read_csv(self.dir / "run"), results.read_summary(self.dir / "run")
        self.run_kolo("--run-dir", "run", "--resume", "auto")
        self.assertEqual(results.read_csv(self.dir / "run"), rows)
        again = results.read_summary(self.dir / "run")
        for key in ("reason", "exit_code", "epochs", "best_epoch", "best_val_top1", "test_top1", "test_loss"):
            self.assertEqual(again[key], summary[key], key)

    def test_damaged_newest_checkpoint_is_named_and_passed_over(self):
        self.run_kolo("--input", self.deck, "--run-dir", "run", "--stop-after-epochs", 2, expect=75)
        newest = self.dir / "run" / "checkpoints" / f"step_{2 * STEPS_AN_EPOCH:09}.h5"
        content = bytearray(newest.read_bytes())
        content[len(content) // 2] ^= 1
        newest.write_bytes(content)
        result = self.run_kolo("--run-dir", "run", "--resume", "required", ranks=2)
        self.assertIn(newest.name, result.out + result.err)
        self.assertEqual(results.column(self.dir / "run", "epoch"), [1, 2, 3])
        self.train(self.deck, "undisturbed")
        pair = (results.column(self.dir / run, "train_loss") for run in ("run", "undisturbed"))
        self.assertLessEqual(results.largest_relative_difference(*pair), 1e-10)


if __name__ == "__main__":
    harness.main()
