"""Earlier versions of the product, from the repository's history, as programs to run; and what they left behind.

`python -m tests.upgrade.versions COMMIT` makes the directory of a federation that such a version wrote, and packs it
to tests/upgrade/data (see the README there).
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from tests.upgrade.conftest import COMMITS
from tests.upgrade.history import extract

from karmada.standalone import archive as archives
from karmada.testing.stage.components import console

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"
MANIFESTS = Path(__file__).parent / "manifests.yaml"
MEMBERS = ("member1", "member2")
PATIENCE = 600.0
"""Seconds that anything may take: a few on an idle machine, many times that on a crowded one."""
_LEFT_OUT = ("logs", "lock", "supervisor.pid", "kubeconfig", "admin.kubeconfig")
"""Of processes, or written anew at every start; `members/*/kubeconfig` as well."""


class Version(NamedTuple):
    """One version of the source."""

    source: Path

    @classmethod
    def present(cls) -> "Version":
        """The version under test."""
        return cls(ROOT / "src")

    @classmethod
    def of(cls, commit: str, folder: Path) -> "Version":
        """A version of the past, unpacked into a folder."""
        extract(COMMITS.get(commit, commit), folder)
        return cls(folder / "src")

    @property
    def environment(self) -> dict[str, str]:
        """For its programs."""
        return os.environ | {"PYTHONPATH": str(self.source), "PYTHONDONTWRITEBYTECODE": "1"}

    def karmada(self, data: Path, *arguments: str) -> str:
        """Run its `karmada` command on a directory."""
        return self.run("karmada", *arguments, "--data", str(data))

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of it; what it prints."""
        command = [str(console(program)), *arguments]
        outcome = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        assert outcome.returncode == 0, f"{' '.join(command)}:\n{outcome.stdout}{outcome.stderr}"
        return outcome.stdout


def kubectl(data: Path, *arguments: str, context: str = "karmada-apiserver") -> str:
    """What kubectl answers about a running federation."""
    program = shutil.which("kubectl")
    if program is None:
        from tests.programs import kubectl as built

        program = built()
    command = [program, f"--kubeconfig={data / 'kubeconfig'}", f"--context={context}", *arguments]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert outcome.returncode == 0, f"{' '.join(command)}:\n{outcome.stderr}"
    return outcome.stdout


def read(data: Path, what: str, context: str = "karmada-apiserver") -> Any:
    """An object."""
    return orjson.loads(kubectl(data, "get", what, "-n", "shop", "-o", "json", context=context))


def eventually(check: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Wait until a check is true."""
    until = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.2)
    return found


def spread(data: Path) -> dict[str, int]:
    """Ready replicas of the Deployment by member."""
    found = {}
    for member in MEMBERS:
        listed = orjson.loads(kubectl(data, "get", "deployments", "-n", "shop", "-o", "json", context=member))["items"]
        ready = {one["metadata"]["name"]: (one.get("status") or {}).get("readyReplicas", 0) for one in listed}
        found[member] = ready.get("web", 0)
    return found


def make(commit: str) -> Path:
    """Have a version of the past write a directory, and pack it."""
    with tempfile.TemporaryDirectory() as folder:
        version, data = Version.of(commit, Path(folder) / "tree"), Path(folder) / "federation"
        version.karmada(data, "up", "--detach", "--members", "2")
        try:
            kubectl(data, "apply", "-f", str(MANIFESTS))
            eventually(lambda: spread(data) == {"member1": 2, "member2": 1})
            eventually(lambda: (read(data, "deployment/web").get("status") or {}).get("readyReplicas") == 3)
        finally:
            version.karmada(data, "down")
        target = DATA / f"{commit}.tar.xz"
        with tarfile.open(target, "w:xz") as archive:
            archive.add(data, "federation", filter=_packed)
    return target


def _packed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    name = Path(entry.name)
    if name.name in _LEFT_OUT or name.suffix in (".lock", ".log"):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def unpack(commit: str, folder: Path) -> Path:
    """A directory that a version of the past wrote; it will be served on other ports."""
    with tarfile.open(DATA / f"{commit}.tar.xz") as archive:
        archives.unpack(archive, folder)
    for port in (folder / "federation").rglob("port"):
        port.unlink()
    return folder / "federation"


if __name__ == "__main__":
    for each in sys.argv[1:]:
        made = make(each)
        print(f"{made}: {made.stat().st_size} bytes")
