"""The base of tests that compare a run something happened to with one that was left alone.

Weights, optimizer state, position and metrics are compared, bit for bit; times are not.
"""
import harness
import results


class UndisturbedTest(harness.KoloTest):
    """Runs are named by their directory below self.dir."""

    def last(self, run):
        """Path of the newest checkpoint."""
        return self.dir / run / "checkpoints" / "last.h5"

    def step(self, run):
        """Steps done, by the newest checkpoint."""
        return int(results.progress_value(self.last(run), "step"))

    def require_equal(self, run, reference):
        """Both ended at the same step with the same state and the same metrics in all files."""
        self.assertEqual(self.step(run), self.step(reference))
        self.assertEqual(results.checkpoint_differences(self.last(run), self.last(reference)), [])
        rows = results.read_csv(self.dir / run)
        self.assertEqual(results.without_times(rows), results.without_times(results.read_csv(self.dir / reference)))
        self.assertEqual(rows, results.read_jsonl(self.dir / run))
        self.assertEqual(rows, results.read_metrics_h5(self.dir / run))
        self.assertEqual([row["epoch"] for row in rows], list(range(1, len(rows) + 1)))
