"""A run of kolo as the operating system sees it: started, watched, signalled, and cleaned up after.

Every process of a run carries a unique marker in its environment, so its processes are found (and, past the deadline, ended)
by what they are and never by name.
Invariant: when finish() returns, the run has ended, no process of it lives, and no unused shared-memory file of it is left.
Time limits are deadlines against hangs.
"""
import ctypes
import os
import pathlib
import pty
import re
import signal
import subprocess
import threading
import time
import uuid

DEADLINE_S = 180
SETTLE_S = 20
ERROR_START = "kolo: error["
MARKER = "KOLO_E2E_RUN"


def _environment(extra, marker):
    """This process's environment without traces of another launcher, set for runs with more ranks than cores."""
    launchers = ("OMPI_", "PMIX_", "PMI_", "ORTE_", "PRTE_", "SLURM_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(launchers)}
    env.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1", "LC_ALL": "C.UTF-8", MARKER: marker})
    env.update(extra or {})
    return env


def _die_with_parent():
    """prctl(PR_SET_PDEATHSIG, SIGTERM): a test that is killed takes its run along."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def _shared_memory():
    """Files of this user in /dev/shm."""
    mine = set()
    for path in pathlib.Path("/dev/shm").glob("*"):
        try:
            if path.stat().st_uid == os.getuid():
                mine.add(str(path))
        except OSError:
            pass
    return mine


def _unused(paths):
    """Those of `paths` that exist and that no process maps: what another live program uses is not ours to judge."""
    existing = [path for path in paths if os.path.exists(path)]
    if not existing:
        return []
    maps = b"".join(_read(entry / "maps") for entry in pathlib.Path("/proc").glob("[0-9]*"))
    return [path for path in existing if path.encode() not in maps]


def _eventually_empty(find):
    """The value of find() once it is empty, or what it still holds after SETTLE_S."""
    end = time.monotonic() + SETTLE_S
    while (found := find()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


class Result:
    """A finished run: exit code, all of stdout and stderr, and its error lines."""

    def __init__(self, argv, code, out, err):
        self.argv, self.code, self.out, self.err = argv, code, out, err

    @property
    def error_lines(self):
        """The lines of both streams that start an error."""
        return [line for line in (self.out + "\n" + self.err).splitlines() if line.startswith(ERROR_START)]

    def __str__(self):
        return f"{' '.join(map(str, self.argv))}\nexit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Job:
    """A run in progress.  Its standard output is a pipe or, with output="terminal", a terminal of its own."""

    def __init__(self, argv, cwd, env, output="pipe"):
        self.argv = argv
        self.marker = uuid.uuid4().hex
        self._shm_before = _shared_memory()
        self._lines = {"stdout": [], "stderr": []}
        self._news = threading.Condition()
        read_end, write_end = pty.openpty() if output == "terminal" else os.pipe()
        self._process = subprocess.Popen(argv, cwd=cwd, env=_environment(env, self.marker), stdin=subprocess.DEVNULL,
                                         stdout=write_end, stderr=subprocess.PIPE, text=True, errors="replace",
                                         preexec_fn=_die_with_parent)
        os.close(write_end)
        # newline="\n": a progress bar returns to the start of its line, and that is not a new one
        self._streams = {"stdout": open(read_end, errors="replace", newline="\n"), "stderr": self._process.stderr}
        self._readers = [threading.Thread(target=self._collect, args=(name,), daemon=True) for name in self._lines]
        for reader in self._readers:
            reader.start()

    def _collect(self, name):
        try:
            for line in self._streams[name]:
                with self._news:
                    self._lines[name].append(line)
                    self._news.notify_all()
        except OSError:
            pass  # how a terminal says that its last writer is gone

    def processes(self):
        """{pid: environment} of every live process of this run, the launcher included."""
        wanted = f"{MARKER}={self.marker}".encode()
        found = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            variables = _read(entry / "environ").split(b"\0")
            if wanted in variables:
                found[int(entry.name)] = dict(v.decode(errors="replace").partition("=")[::2] for v in variables)
        return found

    def pid_of_rank(self, rank):
        """Process id of an MPI rank."""
        return next(pid for pid, env in self.processes().items() if env.get("OMPI_COMM_WORLD_RANK") == str(rank))

    def wait_for_line(self, pattern):
        """Blocks until a line of stdout matches; returns the match."""
        expression, end, seen = re.compile(pattern), time.monotonic() + DEADLINE_S, 0
        with self._news:
            while True:
                lines = self._lines["stdout"]
                for line in lines[seen:]:
                    if match := expression.search(line):
                        return match
                seen = len(lines)
                if not any(reader.is_alive() for reader in self._readers) or time.monotonic() > end:
                    raise AssertionError(f"no line matches {pattern!r}\n{self._result()}")
                self._news.wait(0.2)

    def wait_until_it_catches(self, number):
        """Blocks until the process that was started has a handler for a signal."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            caught = re.search(rb"SigCgt:\s*([0-9a-f]+)", _read(f"/proc/{self._process.pid}/status"))
            if caught and int(caught[1], 16) >> (number - 1) & 1:
                return
        raise AssertionError(f"never handles signal {number}\n{self._result()}")

    def signal(self, number):
        """Sends a signal to the launcher (or to kolo itself where there is none)."""
        self._process.send_signal(number)

    def _result(self):
        return Result(self.argv, self._process.returncode, "".join(self._lines["stdout"]), "".join(self._lines["stderr"]))

    def kill(self):
        """Ends every process of this run and the threads that read its output."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait()
        for reader in self._readers:
            reader.join(SETTLE_S)
        for stream in self._streams.values():
            stream.close()

    def finish(self, killed=False):
        """Waits for the end and checks that nothing is left; raises AssertionError past the deadline.

        killed: the run lost a process to a signal, so MPI's files in shared memory may be left; they are removed.
        """
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"no end within {DEADLINE_S} s\n{self._result()}") from None
        left = _eventually_empty(self.processes)
        self.kill()
        result = self._result()
        if left:
            raise AssertionError(f"processes left: {sorted(left)}\n{result}")
        new_files = _shared_memory() - self._shm_before
        for path in _unused(new_files) if killed else []:
            os.unlink(path)
        if unused := _eventually_empty(lambda: _unused(new_files)):
            raise AssertionError(f"left in /dev/shm: {unused}\n{result}")
        return result
