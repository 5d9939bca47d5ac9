"""The driver of the fuzz targets reports every kind of fault: fuzz_planted has one of each on purpose."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)

FAULTS = {
    "read": "heap-buffer-overflow",
    "overflow": "signed integer overflow",
    "exception": "an exception left the target: planted",
    "require": "does not hold: planted",
    "memory": "exceeds maximum supported size",
    "hang": "more than 2 s for one input",
}


class Driver(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.corpus = self.path / "corpus"
        self.corpus.mkdir()
        (self.corpus / "a fine one").write_bytes(b"fine")

    def start(self, *arguments):
        return subprocess.run([PROGRAM, "--seconds", "2", *map(str, arguments)], cwd=self.path, capture_output=True,
                              text=True, errors="replace", timeout=60, check=False)

    def require_finding(self, result, words, dump):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(words, result.stderr)
        self.assertIn("FINDING in planted", result.stderr)
        self.assertIn(f"input written to {dump}", result.stderr)

    def test_each_fault_is_reported_with_its_input_and_found_again_in_it(self):
        for fault, words in FAULTS.items():
            with self.subTest(fault=fault):
                seed = self.corpus / fault
                seed.write_bytes(fault.encode())
                dump = self.path / "crash-planted-1-2"
                result = self.start(self.corpus)
                self.require_finding(result, words, dump)
                self.assertIn(f"at input 2 of {seed}", result.stderr)
                self.assertEqual(dump.read_bytes(), fault.encode())
                self.require_finding(self.start(dump), words, self.path / "crash-planted-1-1")
                seed.unlink()

    def test_a_fault_of_a_mutated_input_is_found_again_in_what_was_written(self):
        (self.corpus / "nearly").write_bytes(b"exception!")
        result = self.start(self.corpus, "--inputs", 100000, "--seed", 5)
        dumps = list(self.path.glob("crash-planted-5-*"))
        self.assertEqual(len(dumps), 1, result.stderr)
        self.require_finding(result, FAULTS["exception"], dumps[0])
        self.assertIn("of the mutated ones", result.stderr)
        self.assertEqual(dumps[0].read_bytes(), b"exception")

    def test_a_leak_is_reported_at_the_end(self):
        (self.corpus / "leak").write_bytes(b"leak")
        result = self.start(self.corpus)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("after the last input (a leak, or a fault at exit)", result.stderr)

    def test_no_fault_is_no_finding(self):
        result = self.start(self.corpus, "--inputs", 1000)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no finding in 1 files and 1000 mutated inputs", result.stdout)

    def test_wrong_arguments_are_no_success(self):
        for arguments in ([], ["--inputs", "many", self.corpus], [self.corpus, "--seed"], [self.path / "absent"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.start(*arguments).returncode, 2)


if __name__ == "__main__":
    unittest.main()
