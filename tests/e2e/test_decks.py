"""Every deck in input/ is right, up to data that may not be on this machine."""
import configparser
import pathlib

import datasets
import harness

DECKS = sorted((harness.SOURCE_ROOT / "input").glob("*.ini"))


def data_path(deck):
    """data.path of a deck; None for synthetic data."""
    parser = configparser.ConfigParser(inline_comment_prefixes=("#",))
    parser.read(deck)
    return None if parser.get("data", "format") == "synthetic" else parser.get("data", "path")


class Decks(harness.KoloTest):
    """kolo check of each deck."""

    def test_there_are_decks(self):
        names = {deck.name for deck in DECKS}
        self.assertLessEqual({"fashion_mnist_cnn.ini", "cifar10_cnn.ini", "cifar10_resnet18.ini", "synthetic_smoke.ini"},
                             names)

    def test_each_passes_or_lacks_only_its_data(self):
        for deck in DECKS:
            with self.subTest(deck=deck.name):
                path = data_path(deck)
                if path is None or (self.dir / pathlib.Path(path)).exists():
                    self.assertIn("the deck and the data are fine", self.run_kolo("check", "--input", deck, ranks=2).out)
                else:
                    result = self.run_kolo("check", "--input", deck, ranks=2, expect=3)
                    self.require_error(result, 3, path)

    def test_cifar10_decks_pass_with_files_of_that_shape(self):
        data = datasets.write_cifar10(self.dir / "cifar-10-batches-bin", count=30)
        for deck in DECKS:
            if "cifar10" in deck.name:
                with self.subTest(deck=deck.name):
                    self.run_kolo("check", "--input", deck, ranks=2)  # data.path is relative: found where kolo starts
                    self.run_kolo("check", "--input", deck, sets={"data.path": data})

    def test_cifar10_cnn_trains_on_files_of_that_shape(self):
        datasets.write_cifar10(self.dir / "cifar-10-batches-bin", count=30)
        deck = harness.SOURCE_ROOT / "input" / "cifar10_cnn.ini"
        out = self.train(deck, "run", ranks=2, sets={"train.max_steps": 2}).out
        self.assertIn("2,122,186 parameters", out)


if __name__ == "__main__":
    harness.main()
