"""kolo doctor: what it finds, what it writes, and its exit code."""
import json
import os
import pathlib
import shutil
import subprocess
import time

import harness


class DoctorTest(harness.KoloTest):
    def examine(self, **options):
        """Runs kolo doctor with --json; returns the result and the parsed file."""
        result = self.run_kolo("doctor", "--json", "doctor.json", **options)
        return result, json.loads((self.dir / "doctor.json").read_text())

    def findings(self, report):
        return {finding["name"]: finding["severity"] for finding in report["findings"]}

    def require_errors(self, options, *names):
        """Code 5, one error line with the errors' names, and the report on disk all the same."""
        result, report = self.examine(expect=5, **options)
        self.require_error(result, 5, "doctor: ", *names)
        self.assertFalse(report["healthy"])
        self.assertEqual(sorted(name for name, severity in self.findings(report).items() if severity == "error"),
                         sorted(names))
        return report


class Healthy(DoctorTest):
    def test_at_any_number_of_ranks_is_code_0(self):
        cores = len(os.sched_getaffinity(0))
        for ranks in (0, 1, 2, cores + 1):
            with self.subTest(ranks=ranks):
                result, report = self.examine(ranks=ranks)
                self.assertTrue(report["healthy"], str(result))
                self.assertEqual([rank["rank"] for rank in report["ranks"]], list(range(max(ranks, 1))))
                self.assertEqual([host["ranks"] for host in report["hosts"]], [max(ranks, 1)])
                self.assertGreater(report["speed"]["ranks"][0]["product_fp32"], 0)
                self.assertEqual([e["strategy"] for e in report["speed"]["exchanges"]],
                                 ["shared", "allreduce"] if ranks > 1 else [])
                self.assertRegex(result.out, r"(?m)^doctor: 0 errors, \d+ warnings?, \d+ notes?$")
                if ranks <= 1:
                    self.assertIn("nothing to exchange", result.out)
                if ranks > cores:
                    self.assertEqual(self.findings(report).get("oversubscribed"), "warning", str(result))

    def test_the_decks_model_tells_how_much_shared_memory_is_needed(self):
        # A linear model: (64 + 1) x 10 parameters; weights, one momentum and two ranks' gradients in fp32.
        sets = {"model.name": "mlp", "model.hidden": "", "data.height": 8, "data.width": 8, "data.channels": 1,
                "optimizer.name": "sgd", "optimizer.momentum": 0.9}
        _, report = self.examine(ranks=2, sets=sets)
        self.assertEqual(report["shared_memory"]["model"], "mlp")
        needed = report["shared_memory"]["hosts"][0]["window_bytes"]
        self.assertGreaterEqual(needed, 650 * 4 * 4)
        self.assertLess(needed, 650 * 4 * 4 + 4 * 4 * 128)

    def test_a_deck_without_its_data_is_a_warning(self):
        result, report = self.examine(ranks=2, sets={"data.format": "idx", "data.path": "missing", "model.name": "cnn"})
        self.assertEqual(self.findings(report).get("deck"), "warning", str(result))


class Facts(DoctorTest):
    def test_agree_with_what_the_system_says(self):
        _, report = self.examine(ranks=2)
        host, shared = report["hosts"][0], os.statvfs("/dev/shm")
        machine = host["machine"]
        self.assertEqual(host["name"], os.uname().nodename)
        self.assertEqual(machine["threads"], os.cpu_count())
        self.assertEqual(machine["memory_bytes"], os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        self.assertLess(0, machine["available_bytes"])
        self.assertLessEqual(machine["available_bytes"], machine["memory_bytes"])
        self.assertEqual(report["shared_memory"]["hosts"][0]["bytes"], shared.f_blocks * shared.f_frsize)
        cpu_flags = pathlib.Path("/proc/cpuinfo").read_text().split()
        self.assertEqual(machine["has_avx2"], "avx2" in cpu_flags)

    def test_mpi_shows_the_transports_it_was_told_to_use(self):
        result, report = self.examine(ranks=2, env={"OMPI_MCA_btl": "self,tcp"})
        if "Open MPI" not in report["mpi"]["library"]:
            self.skipTest("only Open MPI shows its transports")
        self.assertEqual(report["mpi"]["transports"], ["self", "tcp"], str(result))
        self.assertIn("OMPI_MCA_btl=self,tcp", report["mpi"]["settings"])

    def test_more_threads_asked_for_by_the_environment_are_noted(self):
        _, report = self.examine(ranks=1, env={"OMP_NUM_THREADS": "7"})
        self.assertEqual(self.findings(report).get("omp-num-threads"), "note")


class Ill(DoctorTest):
    def test_more_threads_than_cores_is_an_error(self):
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                self.require_errors({"ranks": ranks, "threads": 4 * os.cpu_count()}, "threads")

    def test_ranks_squeezed_onto_one_core_are_an_error(self):
        if len(os.sched_getaffinity(0)) < 2 or not shutil.which("taskset"):
            self.skipTest("needs two cores and taskset")
        core = min(os.sched_getaffinity(0))
        options = {"ranks": 2, "sets": {"comm.bind": "keep"}, "before": ["taskset", "-c", str(core)]}
        self.require_errors(options, "shared-cores")

    def with_shared_memory(self, size):
        self.require_unshare("-m")
        mount = f"mount -t tmpfs -o size={size} tmpfs /dev/shm && exec \"$@\""
        return {"ranks": 2, "before": ["unshare", "-m", "sh", "-c", mount, "sh"]}

    def require_unshare(self, *options):
        if os.geteuid() != 0 or subprocess.run(["unshare", *options, "true"], capture_output=True).returncode != 0:
            self.skipTest("needs root and namespaces")

    def test_a_small_shared_memory_is_an_error(self):
        self.require_errors(self.with_shared_memory("60m"), "shared-memory")

    def test_a_shared_memory_too_small_for_the_exchange_is_a_warning(self):
        _, report = self.examine(**self.with_shared_memory("200m"))  # without a deck: a ResNet-50
        found = {finding["name"]: finding for finding in report["findings"]}.get("shared-memory")
        self.assertEqual(found and found["severity"], "warning", str(report["findings"]))
        self.assertIn("falls back to allreduce: too little shared memory", found["text"])

    def test_libtorch_without_vector_instructions_is_an_error(self):
        if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text().split():
            self.skipTest("needs a processor with AVX2")
        self.require_errors({"ranks": 2, "env": {"ATEN_CPU_CAPABILITY": "default"}}, "cpu-capability")

    def test_what_a_killed_run_left_is_a_warning_with_the_way_to_remove_it(self):
        left = pathlib.Path(f"/dev/shm/vader_segment.test.{os.getpid()}.0")
        left.write_bytes(bytes(4096))
        self.addCleanup(left.unlink, missing_ok=True)
        an_hour_ago = time.time() - 3600
        os.utime(left, (an_hour_ago, an_hour_ago))
        # Among processes of its own only, for none may hide what it maps.
        alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.require_unshare(*alone[1:])
        _, report = self.examine(ranks=2, before=alone)
        found = [finding for finding in report["findings"] if finding["name"] == "left-over"]
        self.assertEqual([finding["severity"] for finding in found], ["warning"])
        self.assertIn(str(left), found[0]["fix"].split())
        self.assertTrue(found[0]["fix"].startswith("if no job of yours runs on this node: rm "))
        left.unlink()
        _, report = self.examine(ranks=2, before=alone)
        self.assertNotIn(str(left), json.dumps(report))


class Json(DoctorTest):
    def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(self):
        (self.dir / "folder").mkdir()
        for path in ("missing/doctor.json", "folder"):
            with self.subTest(path=path):
                result = self.start("doctor", "--json", path, ranks=2).finish()
                self.require_error(result, 2, "--json", path)
                self.assertNotIn("GFLOP/s", result.out)


if __name__ == "__main__":
    harness.main()
