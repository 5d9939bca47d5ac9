"""Reads what a run wrote: metric files, summary and checkpoints.

Rows are dictionaries from column to number, None where a value is missing.
"""
import csv
import json
import math

try:
    import h5py
except ImportError:
    h5py = None

NO_H5PY = "h5py is not installed (Debian: python3-h5py)"
NEEDED_COLUMNS = ("epoch step lr train_loss train_top1 val_loss val_top1 samples_per_s seconds data_s forward_s backward_s "
                  "exchange_s update_s eval_s checkpoint_s global_batch world_size parameters").split()
SUMMARY_KEYS = ("reason exit_code epochs best_epoch best_val_top1 test_top1 test_loss samples_per_s parameters").split()
RUN_FILES = ("config.ini log.txt metrics.csv metrics.jsonl metrics.h5 summary.json checkpoints/last.h5 "
             "checkpoints/best.h5").split()


def is_time(name):
    """Whether a metric or a checkpoint entry is a duration or a rate, which no two runs share."""
    return name.endswith(("_s", "seconds"))


def read_csv(run_dir):
    """Rows of metrics.csv."""
    with open(run_dir / "metrics.csv", newline="") as file:
        return [{name: float(text) if text else None for name, text in row.items()} for row in csv.DictReader(file)]


def read_jsonl(run_dir):
    """Rows of metrics.jsonl."""
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


def read_metrics_h5(run_dir):
    """Rows of metrics.h5."""
    with h5py.File(run_dir / "metrics.h5") as file:
        columns = {name: file[name][()].tolist() for name in file}
    count = len(next(iter(columns.values())))
    return [{name: None if math.isnan(values[i]) else values[i] for name, values in columns.items()}
            for i in range(count)]


def without_times(rows):
    """The rows without the columns that measure time."""
    return [{name: value for name, value in row.items() if not is_time(name)} for row in rows]


def column(run_dir, name):
    """One column of metrics.csv."""
    return [row[name] for row in read_csv(run_dir)]


def read_summary(run_dir):
    """summary.json."""
    return json.loads((run_dir / "summary.json").read_text())


def read_checkpoint(path):
    """{path in the file: (shape, type, bytes)} of every data set."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = (item.shape, str(item.dtype), item[()].tobytes() if item.shape else bytes(str(item[()]), "utf-8"))

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def progress_value(path, key):
    """A scalar of /progress in a checkpoint."""
    with h5py.File(path) as file:
        return file["progress"][key][()]


def checkpoint_differences(one, other):
    """Names of data sets that are not the same bits in both files: all but times, the deck and what is derived from them."""
    a, b = read_checkpoint(one), read_checkpoint(other)
    ignored = [name for name in a | b if is_time(name) or name == "config" or name.startswith("integrity/")]
    return sorted(name for name in (a | b).keys() - set(ignored) if a.get(name) != b.get(name))


def largest_relative_difference(one, other):
    """Over two equally long lists of numbers."""
    assert len(one) == len(other), (one, other)
    return max(abs(a - b) / max(abs(a), abs(b)) for a, b in zip(one, other))
