"""Wrong decks and wrong data: one error line over all ranks, the right code, no hang, and nothing left behind.

Every case is tried with `kolo check` and with a run, alone and on four ranks.
"""
import unittest

import datasets
import harness
import results

DECK = {"run.progress": "none", "data.format": "synthetic", "data.samples": 64, "data.channels": 1, "data.height": 8,
        "data.width": 8, "model.name": "mlp", "model.hidden": 8, "train.epochs": 1, "train.global_batch": 16}
FILES = {key: value for key, value in DECK.items() if key not in ("data.format", "data.samples")}


class BadInput(harness.KoloTest):
    """Each test makes one mistake."""

    def require_refusal(self, code, words, deck=None, arguments=(), sets=None):
        """Code and words of the error line, whatever the command and the number of ranks."""
        given = ["--input", deck] if deck else []
        launches = ((["check"], 0), (["check"], 4), (["--run-dir", "run"], 1), (["--run-dir", "run"], 4))
        for command, ranks in launches:
            with self.subTest(command=command, ranks=ranks):
                result = self.start(*command, *given, *arguments, ranks=ranks, sets=sets).finish()
                self.require_error(result, code, *words)
                self.require_indented_hint(result)
                self.assertFalse((self.dir / "run").exists(), "a run directory was made")
                self.assertFalse((self.dir / "runs").exists(), "a run directory was made")

    def require_indented_hint(self, result):
        """kolo's last line is the error or its hint; only mpirun's banner may follow."""
        lines = result.err.splitlines()
        at = lines.index(result.error_lines[0])
        following = [line for line in lines[at + 1:] if line.strip()]
        first_of_banner = next((i for i, line in enumerate(following) if line.startswith("---")), len(following))
        for line in following[:first_of_banner]:
            self.assertTrue(line.startswith("  ") or line.startswith("Primary job"), str(result))

    def write_idx_deck(self, directory):
        return self.write_deck(FILES | {"data.format": "idx", "data.path": directory})

    def write_cifar_deck(self, directory):
        return self.write_deck(FILES | {"data.format": "cifar10", "data.path": directory})

    def test_unknown_key(self):
        deck = self.write_deck(DECK | {"optimizer.lrate": 0.1})
        line = 1 + deck.read_text().splitlines().index("lrate = 0.1")
        self.require_refusal(2, [f"deck.ini:{line}", "optimizer.lrate"], deck)

    def test_bad_value(self):
        deck = self.write_deck(DECK | {"optimizer.lr": "fast"})
        line = 1 + deck.read_text().splitlines().index("lr = fast")
        self.require_refusal(2, [f"deck.ini:{line}", "optimizer.lr", "fast"], deck)

    def test_missing_deck(self):
        self.require_refusal(2, ["absent.ini"], self.dir / "absent.ini")

    def test_missing_data(self):
        self.require_refusal(3, [self.dir / "absent"], self.write_idx_deck(self.dir / "absent"))

    def test_truncated_idx(self):
        images = datasets.write_idx(self.dir / "data")
        images.write_bytes(images.read_bytes()[:-100])
        self.require_refusal(3, [images.name, "truncated", "3756", "3856"], self.write_idx_deck(self.dir / "data"))

    def test_wrong_idx_magic(self):
        images = datasets.write_idx(self.dir / "data")
        images.write_bytes(b"\x00\x00\x0d\x03" + images.read_bytes()[4:])
        self.require_refusal(3, [images.name, "magic", "00 00 0d 03"], self.write_idx_deck(self.dir / "data"))

    def test_wrong_size_of_cifar_file(self):
        data = datasets.write_cifar10(self.dir / "data")
        file = data / "data_batch_3.bin"
        file.write_bytes(file.read_bytes() + b"\0")
        words = [file.name, str(20 * datasets.CIFAR_RECORD + 1), str(datasets.CIFAR_RECORD)]
        self.require_refusal(3, words, self.write_cifar_deck(data))

    def test_label_out_of_range(self):
        data = datasets.write_cifar10(self.dir / "data")
        content = bytearray((data / "data_batch_2.bin").read_bytes())
        content[7 * datasets.CIFAR_RECORD] = 10
        (data / "data_batch_2.bin").write_bytes(content)
        self.require_refusal(3, ["data_batch_2.bin", "label 10", "7"], self.write_cifar_deck(data))

    def test_unknown_model(self):
        self.require_refusal(2, ["model.name", "resnet19"], self.write_deck(DECK | {"model.name": "resnet19"}))

    def test_unknown_option(self):
        self.require_refusal(2, ["--inptu"], arguments=["--inptu", "deck.ini"])

    def test_global_batch_below_the_world_size(self):
        deck = self.write_deck(DECK | {"train.global_batch": 3})
        for command in (["check"], ["--run-dir", "run"]):
            with self.subTest(command=command):
                result = self.start(*command, "--input", deck, ranks=4).finish()
                self.require_error(result, 2, "train.global_batch", "3", "4")
                self.assertFalse((self.dir / "run").exists())

    def test_no_deck_at_all(self):
        for command, ranks in (((), 0), (("check",), 2)):
            with self.subTest(command=command):
                self.require_error(self.start(*command, ranks=ranks, threads=None).finish(), 2, "no deck")


class GoodInput(harness.KoloTest):
    """The same files without the mistake pass: the refusals above are for the mistakes."""

    def test_idx(self):
        datasets.write_idx(self.dir / "data")
        datasets.write_idx(self.dir / "data", count=30, prefix="t10k")
        deck = self.write_deck(FILES | {"data.format": "idx", "data.path": self.dir / "data", "data.val_fraction": 0.1})
        self.assertIn("54 train, 6 validation, 30 test", self.run_kolo("check", "--input", deck, ranks=2).out)

    def test_cifar10(self):
        deck = self.write_deck(FILES | {"data.format": "cifar10", "data.path": datasets.write_cifar10(self.dir / "data")})
        self.assertIn("100 train, 20 test", self.run_kolo("check", "--input", deck, ranks=2).out)

    @unittest.skipUnless(results.h5py, results.NO_H5PY)
    def test_hdf5(self):
        deck = self.write_deck(FILES | {"data.format": "hdf5", "data.path": datasets.write_hdf5(self.dir / "data.h5")})
        self.assertIn("60 train, 60 test", self.run_kolo("check", "--input", deck, ranks=2).out)


if __name__ == "__main__":
    harness.main()
