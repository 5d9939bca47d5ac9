"""kolo plan: it measures with real jobs, advises a launch that works, and ends in order when its jobs do not.

Where the outcome must be known, a program of the test stands in for mpirun.
"""
import json
import os
import shlex
import signal
import stat
import sys
import time

import harness

DECK = {"data.format": "synthetic", "data.samples": 100, "data.channels": 1, "data.height": 8, "data.width": 8,
        "model.name": "mlp", "model.hidden": 8, "run.progress": "none"}

# Stands in for mpirun: twice the ranks, twice the speed; it fails when it was started before another ended.
MEASURING = """
import json, os, pathlib, sys
words = sys.argv[1:]
ranks = int(words[words.index("-n") + 1])
lock = pathlib.Path("running")
lock.touch(exist_ok=False)
with open("calls.json", "a") as calls:
    print(json.dumps(words), file=calls)
pathlib.Path(words[words.index("--json") + 1]).write_text(json.dumps(
    {"samples_per_s": 100 * ranks, "step_ms": 3, "exchange_ms": 1, "update_ms": 0.5}))
lock.unlink()
"""


class Plan(harness.KoloTest):
    """A test with a directory for temporary files, which must be empty of kolo's in the end."""

    def setUp(self):
        super().setUp()
        self.temporary = self.dir / "tmp"
        self.temporary.mkdir()
        self.addCleanup(self.require_no_litter)

    def require_no_litter(self):
        """Neither the jobs' results nor half a report are left."""
        left = [*self.temporary.glob("kolo*"), *self.dir.glob("kolo*"), *self.dir.glob(".*")]
        self.assertEqual(left, [])

    def start_plan(self, *arguments, steps=3, env=None, **options):
        """kolo plan as a user starts it: without a thread count."""
        env = {"TMPDIR": str(self.temporary)} | (env or {})
        return self.start("plan", "--steps", steps, "--warmup", 1, *arguments, env=env, threads=None, **options)

    def plan(self, *arguments, **options):
        """A plan that must succeed; returns its run and its report."""
        result = self.start_plan(*arguments, "--json", "plan.json", **options).finish()
        self.assertEqual((result.code, result.error_lines, result.err), (0, [], ""), str(result))
        return result, json.loads((self.dir / "plan.json").read_text())

    def instead_of_mpirun(self, script, interpreter=sys.executable):
        """An environment whose mpirun is `script`."""
        folder = self.dir / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "mpirun"
        program.write_text(f"#!{interpreter}\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


class Measuring(Plan):
    """Plans with the real launcher."""

    def test_all_cores_are_tried_both_ways_and_the_advice_can_be_started(self):
        result, report = self.plan("--input", self.write_deck(DECK))
        cores, rows = report["cores"], report["rows"]
        self.assertLessEqual(cores, len(os.sched_getaffinity(0)))
        shapes = [(row["ranks"], row["threads"]) for row in rows]
        self.assertIn((1, cores), shapes)
        self.assertIn((cores, 1), shapes)
        self.assertEqual([row["error"] for row in rows], [None] * len(rows), str(result))
        self.assertEqual({row["global_batch"] for row in rows}, {128})
        rates = [row["samples_per_s"] for row in rows]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertIn(report["advice"], result.out)
        words = shlex.split(report["advice"])
        program = words.index(result.argv[0])
        check = self.run_kolo("check", *words[program + 1:], before=words[:program], threads=None)
        self.assertIn(f"{words[program - 1]} rank", check.out)

    def test_without_a_deck_it_is_the_networks_of_bench_train(self):
        result, report = self.plan("--set", "data.samples=200", "--set", "train.global_batch=8")
        self.assertTrue(all(row["global_batch"] == 8 and row["samples_per_s"] > 0 for row in report["rows"]), str(result))

    def test_an_error_of_the_jobs_is_the_plans(self):
        deck = self.write_deck({"data.format": "cifar10", "data.path": "nowhere", "model.name": "mlp"})
        self.require_error(self.start_plan("--input", deck).finish(), 3, "no job", "nowhere")

    def test_is_refused_under_a_launcher(self):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                self.require_error(self.start_plan(ranks=ranks).finish(), 5, "starts mpirun itself", f"{ranks} cop")

    def test_term_and_int_end_the_jobs_too(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number=number):
                job = self.start_plan("--input", self.write_deck(DECK), "--json", "plan.json", steps=1000000)
                deadline = time.monotonic() + 60
                while not any("OMPI_COMM_WORLD_RANK" in env for env in job.processes().values()):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
                job.signal(number)
                result = job.finish()
                self.assertEqual((result.code, result.error_lines), (-number, []), str(result))
                self.assertFalse((self.dir / "plan.json").exists())


class StandIn(Plan):
    """Plans whose jobs do what the test says."""

    def calls(self):
        """The arguments of each job, in order."""
        return [json.loads(line) for line in (self.dir / "calls.json").read_text().splitlines()]

    def test_jobs_run_one_after_another_and_the_fastest_is_advised(self):
        _, report = self.plan("--input", self.write_deck(DECK), env=self.instead_of_mpirun(MEASURING))
        self.assertEqual(len(self.calls()), len(report["rows"]))
        self.assertEqual(report["rows"][0] | {"error": None},
                         {"ranks": report["cores"], "threads": 1, "global_batch": 128, "exchange_ms": 1,
                          "samples_per_s": 100 * report["cores"], "step_ms": 3, "update_ms": 0.5, "error": None})
        self.assertIn(f" -n {report['cores']} ", report["advice"])

    def test_every_job_gets_deck_and_sets_and_threads_once(self):
        arguments = ("--set", "run.threads=3", "--set", "model.hidden=9", "--input", self.write_deck(DECK))
        self.plan(*arguments, env=self.instead_of_mpirun(MEASURING))
        for words in self.calls():
            self.assertIn("model.hidden=9", words)
            self.assertIn(str(self.dir / "deck.ini"), words)
            self.assertEqual(sum(word.startswith("run.threads=") for word in words), 1, words)

    def test_a_batch_that_does_not_fit_is_skipped_with_its_reason(self):
        result, report = self.plan("--set", "train.global_batch=1", env=self.instead_of_mpirun(MEASURING))
        self.assertEqual(len(self.calls()), 1)
        for row in report["rows"][1:]:
            self.assertIn("train.global_batch = 1", row["error"])
            self.assertIn(row["error"], result.out)

    def test_jobs_that_all_fail_are_one_error(self):
        for script, words in (("echo no slots; exit 213", ["exit code 213", "no slots"]),
                              ("echo nonsense", ["without results", "nonsense"]),
                              ("kill -KILL $$", ["signal 9"]),
                              ("echo 'kolo: error[5]: no shared memory' >&2; exit 1", [": no shared memory"])):
            with self.subTest(script=script):
                env = self.instead_of_mpirun(script, "/bin/sh")
                self.require_error(self.start_plan("--json", "plan.json", env=env).finish(), 5, "no job", *words)
                self.assertFalse((self.dir / "plan.json").exists())

    def test_one_that_fails_is_shown_in_the_table(self):
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("needs two combinations")
        env = self.instead_of_mpirun(MEASURING.replace("lock =", "if ranks == 1: sys.exit('it rained')\nlock =", 1))
        result, report = self.plan(env=env)
        self.assertIn("it rained", report["rows"][-1]["error"])
        self.assertRegex(result.out, r"(?m)^ +1 +\d+ +128 +failed$")
        self.assertIn("it rained", result.out)

    def test_a_missing_launcher_is_one_error(self):
        empty = {"PATH": str(self.temporary)}
        self.require_error(self.start_plan(env=empty).finish(), 5, "cannot start mpirun", "No such file")
        srun = self.start_plan("--launcher", "srun", env=empty | {"SLURM_JOB_ID": "7"}).finish()
        self.require_error(srun, 5, "cannot start srun")
        self.require_error(self.start_plan("--launcher", "srun", env=empty).finish(), 5, "SLURM_JOB_ID")

    def test_bad_decks_and_reports_are_refused_before_any_job(self):
        env = self.instead_of_mpirun("touch started", "/bin/sh")
        deck = self.write_deck({"model.nme": "mlp"})
        for arguments, words in ((["--input", deck], ["model.nme"]), (["--input", "none.ini"], ["none.ini"]),
                                 (["--set", "train.accumulate=200"], ["train.accumulate"]),
                                 (["--json", "nowhere/plan.json"], ["nowhere"]), (["--json", "tmp"], ["directory"])):
            with self.subTest(arguments=arguments):
                self.require_error(self.start_plan(*arguments, env=env).finish(), 2, *words)
        self.assertFalse((self.dir / "started").exists())


if __name__ == "__main__":
    harness.main()
