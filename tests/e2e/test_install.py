"""cmake --install: what it puts where, and that the installed executable runs on its own."""
import os
import subprocess

import harness


class Install(harness.KoloTest):
    """An installation into a prefix of the test's own; KOLO_BUILD_DIR names the build."""

    def test_installed_executable_finds_its_libraries_and_the_decks_are_there(self):
        subprocess.run(["cmake", "--install", os.environ["KOLO_BUILD_DIR"], "--prefix", self.dir / "prefix"], check=True,
                       capture_output=True)
        installed = self.dir / "prefix" / "bin" / "kolo"
        environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
        version = subprocess.run([installed, "--version"], env=environment, capture_output=True, text=True, check=True)
        self.assertTrue(version.stdout.startswith("kolo "), version.stdout)
        decks = {path.name for path in (self.dir / "prefix" / "share" / "kolo" / "input").iterdir()}
        self.assertEqual(decks, {path.name for path in (harness.SOURCE_ROOT / "input").iterdir()})


if __name__ == "__main__":
    harness.main()
