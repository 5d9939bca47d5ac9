"""The base class of the end-to-end tests: starts kolo as a user does, and reads its exit code and error lines.

No test measures speed: time limits are deadlines (job.py).
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

from job import ERROR_START, Job

SOURCE_ROOT = pathlib.Path(__file__).resolve().parents[2]
_programs = {"kolo": os.environ.get("KOLO_EXE", ""), "mpiexec": os.environ.get("KOLO_MPIEXEC", "mpirun")}


class KoloTest(unittest.TestCase):
    """A test with a fresh directory (self.dir), which every run starts in."""

    longMessage = True

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="kolo-e2e-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def start(self, *arguments, ranks=0, sets=None, threads=1, env=None, output="pipe", before=()):
        """Starts kolo; ranks=0: without a launcher.  sets: {"section.key": value}, each passed by --set.

        before: a command that runs the rest of the command line.
        """
        launcher = [_programs["mpiexec"], "-n", str(ranks), "--oversubscribe", "--bind-to", "none"] if ranks else []
        argv = [*before, *launcher] + [_programs["kolo"], *map(str, arguments)]
        all_sets = ({} if threads is None else {"run.threads": threads}) | (sets or {})
        for key, value in all_sets.items():
            argv += ["--set", f"{key}={value}"]
        job = Job(argv, self.dir, env, output)
        self.addCleanup(job.kill)
        return job

    def run_kolo(self, *arguments, expect=0, **options):
        """Runs kolo to its end and requires the exit code `expect`."""
        result = self.start(*arguments, **options).finish()
        self.assertEqual(result.code, expect, str(result))
        self.assertEqual(len(result.error_lines), int(expect not in (0, 75)), str(result))
        return result

    def pause(self, seconds):
        """Lets a run go on for a while."""
        time.sleep(seconds)

    def train(self, deck, run_dir, *arguments, **options):
        """A training run of `deck` into `run_dir`."""
        return self.run_kolo("--input", deck, "--run-dir", run_dir, *arguments, **options)

    def write_deck(self, values, name="deck.ini"):
        """Writes {"section.key": value} as a deck; returns its path."""
        sections = {}
        for key, value in values.items():
            section, _, name_in_section = key.partition(".")
            sections.setdefault(section, []).append(f"{name_in_section} = {value}")
        path = self.dir / name
        path.write_text("\n".join(f"[{section}]\n" + "\n".join(lines) + "\n" for section, lines in sections.items()))
        return path

    def require_error(self, result, code, *words):
        """One error line with `code`, and all of `words` in it or in its hint."""
        self.assertEqual(result.code, code, str(result))
        self.assertEqual(len(result.error_lines), 1, str(result))
        line = result.error_lines[0]
        self.assertTrue(line.startswith(f"{ERROR_START}{code}]: "), str(result))
        for word in words:
            self.assertIn(str(word), line, str(result))


def main():
    """Runs the tests of the calling file: test_x.py [--kolo PATH] [--mpiexec PATH] [unittest's arguments]."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kolo", default=_programs["kolo"], help="the executable (or KOLO_EXE)")
    parser.add_argument("--mpiexec", default=_programs["mpiexec"], help="the launcher (or KOLO_MPIEXEC)")
    options, rest = parser.parse_known_args()
    if not os.access(options.kolo, os.X_OK):
        parser.error(f"--kolo {options.kolo!r}: no such executable")
    _programs.update(kolo=os.path.abspath(options.kolo), mpiexec=options.mpiexec)
    outcome = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2).result
    for test, reason in outcome.skipped:
        print(f"NOTICE: skipped {test}: {reason}")
    if outcome.testsRun and len(outcome.skipped) == outcome.testsRun:
        print("ALL SKIPPED")
    sys.exit(not outcome.wasSuccessful())
