"""Checkpoints read with other people's tools: h5py and h5dump.

Names and shapes are those of torchvision's networks; the counts are the published ones.
"""
import math
import shutil
import subprocess
import unittest

import harness
import results

TINY = {"run.progress": "none", "data.format": "synthetic", "data.samples": 12, "data.test_samples": 0,
        "train.epochs": 1, "train.global_batch": 6}
# The reference CNN at 3x32x32 and 10 classes, 2,122,186 parameters.
CNN = {"conv1.weight": (32, 3, 3, 3), "conv1.bias": (32,), "conv2.weight": (64, 32, 3, 3), "conv2.bias": (64,),
       "fc1.weight": (512, 4096), "fc1.bias": (512,), "fc2.weight": (10, 512), "fc2.bias": (10,)}
PROGRESS = ("epoch step step_in_epoch sample_offset partial_loss_sum partial_samples world_size global_batch "
            "batch_per_rank accumulate best_epoch best_val_top1 strategy").split()


def resnet18():
    """Shapes of torchvision's resnet18 with the stem for small images and 10 classes: parameters, buffers."""
    parameters, buffers = {"conv1.weight": (64, 3, 3, 3)}, {}

    def norm(name, channels):
        parameters.update({f"{name}.weight": (channels,), f"{name}.bias": (channels,)})
        buffers.update({f"{name}.running_mean": (channels,), f"{name}.running_var": (channels,),
                        f"{name}.num_batches_tracked": ()})

    norm("bn1", 64)
    before = 64
    for layer, width in enumerate((64, 128, 256, 512), 1):
        for block in range(2):
            prefix = f"layer{layer}.{block}"
            parameters[f"{prefix}.conv1.weight"] = (width, before, 3, 3)
            parameters[f"{prefix}.conv2.weight"] = (width, width, 3, 3)
            norm(f"{prefix}.bn1", width)
            norm(f"{prefix}.bn2", width)
            if before != width:
                parameters[f"{prefix}.downsample.0.weight"] = (width, before, 1, 1)
                norm(f"{prefix}.downsample.1", width)
            before = width
    return parameters | {"fc.weight": (10, 512), "fc.bias": (10,)}, buffers


class Contents(harness.KoloTest):
    """What is in the file."""

    def checkpoint(self, **changes):
        deck = self.write_deck(TINY | {key.replace("__", "."): value for key, value in changes.items()})
        self.train(deck, "run", ranks=2)
        return self.dir / "run" / "checkpoints" / "last.h5"

    def shapes(self, group):
        return {name: item.shape for name, item in group.items()}

    @unittest.skipUnless(results.h5py, results.NO_H5PY)
    def test_reference_cnn_with_adam(self):
        path = self.checkpoint(model__name="cnn", optimizer__name="adam")
        with results.h5py.File(path) as file:
            self.assertEqual(self.shapes(file["model"]), CNN)
            self.assertEqual(sum(math.prod(item.shape) for item in file["model"].values()), 2_122_186)
            self.assertEqual({str(item.dtype) for item in file["model"].values()}, {"float32"})
            self.assertEqual(set(file["optimizer"]), {"exp_avg", "exp_avg_sq"})
            for state in file["optimizer"].values():
                self.assertEqual(self.shapes(state), CNN)
            self.assertEqual(len(file["buffers"]), 0)
            self.assertTrue(any(abs(file["optimizer/exp_avg/conv1.weight"][()]).ravel() > 0))
            self.check_frame(file)
        self.assertEqual(results.read_summary(self.dir / "run")["parameters"], 2_122_186)

    def check_frame(self, file):
        """Format, deck, position and metrics."""
        self.assertEqual(int(file["format"].attrs["version"]), 1)
        self.assertIn("kolo", str(file["format"].attrs["name"]))
        self.assertEqual(file["config"][()].decode(), (self.dir / "run" / "config.ini").read_text())
        self.assertLessEqual(set(PROGRESS), set(file["progress"]))
        self.assertEqual([int(file["progress"][key][()]) for key in ("epoch", "step", "step_in_epoch", "world_size",
                                                                     "global_batch")], [1, 2, 0, 2, 6])
        row = results.read_csv(self.dir / "run")[0]
        self.assertEqual(file["metrics/train/loss"][()].tolist(), [row["train_loss"]])
        self.assertEqual(file["metrics/run/lr"][()].tolist(), [row["lr"]])
        names = [name.decode() if isinstance(name, bytes) else name for name in file["integrity/names"][()]]
        self.assertEqual(len(names), len(file["integrity/xxh3"]))
        self.assertIn("/model/conv1.weight", names)

    @unittest.skipUnless(results.h5py, results.NO_H5PY)
    def test_resnet18_has_torchvisions_names(self):
        parameters, buffers = resnet18()
        path = self.checkpoint(model__name="resnet18", model__stem="cifar", data__height=8, data__width=8,
                               checkpoint__keep=1)
        with results.h5py.File(path) as file:
            self.assertEqual(self.shapes(file["model"]), parameters)
            self.assertEqual(self.shapes(file["buffers"]), buffers)
            self.assertEqual(str(file["buffers/bn1.num_batches_tracked"].dtype), "int64")
            self.assertEqual(sum(math.prod(item.shape) for item in file["model"].values()), 11_173_962)

    @unittest.skipUnless(results.h5py, results.NO_H5PY)
    def test_fp64_is_stored_as_fp64(self):
        path = self.checkpoint(run__dtype="fp64", model__name="mlp", model__hidden="7, 5", data__height=4, data__width=4)
        with results.h5py.File(path) as file:
            types = [str(item.dtype) for group in ("model", *(f"optimizer/{s}" for s in file["optimizer"]))
                     for item in file[group].values()]
        self.assertEqual(set(types), {"float64"})

    @unittest.skipUnless(shutil.which("h5dump"), "h5dump is not installed (Debian: hdf5-tools)")
    def test_h5dump_reads_it(self):
        path = self.checkpoint(model__name="cnn", data__height=8, data__width=8)
        header = subprocess.run(["h5dump", "-H", path], capture_output=True, text=True, check=True).stdout
        for name in CNN:
            self.assertIn(f'DATASET "{name}"', header)
        bias = subprocess.run(["h5dump", "-y", "-d", "/model/fc2.bias", path], capture_output=True, text=True, check=True)
        self.assertRegex(bias.stdout, r"H5T_IEEE_F32LE")
        self.assertEqual(bias.stdout.partition("DATA {")[2].count(","), 9)


class Counts(harness.KoloTest):
    """Parameters as `kolo check` prints them."""

    def test_resnet50_with_ten_classes(self):
        deck = self.write_deck(TINY | {"model.name": "resnet50"})
        self.assertIn("23,528,522 parameters", self.run_kolo("check", "--input", deck).out)


if __name__ == "__main__":
    harness.main()
