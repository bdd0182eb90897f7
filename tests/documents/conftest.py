"""A federation with every cluster the documents name, started as a user starts it, and real kubectl.

Manifests lie in `data`, one file per block, each with a note of where it comes from. They are applied as written, with
strict field validation; placeholders (credentials, addresses, paths) are filled in by the tests.
"""

import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests import programs

T = TypeVar("T")
HERE = Path(__file__).parent
HUB = "karmada-apiserver"
PATIENCE = 15.0
DIRTY = "deployments,statefulsets,services,configmaps,persistentvolumeclaims,serviceexports,serviceimports"


class Documents:
    """The federation as a reader of the documents sees it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.kubeconfig = home / "kubeconfig"

    @property
    def environment(self) -> dict[str, str]:
        """Our programs first on PATH, `$KUBECONFIG` leading to the federation."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.home)}

    def manifest(self, name: str, replace: dict[str, str] | None = None) -> str:
        """A block of a document."""
        [path] = (HERE / "data").glob(f"{name}-*.yaml")
        text = path.read_text()
        for old, new in (replace or {}).items():
            assert old in text, f"{path.name} does not say {old!r}"
            text = text.replace(old, new)
        return text

    def run(self, *command: str, stdin: str = "", succeeds: bool = True, seconds: float = 30) -> str:
        """Run a command as the documents write it; `$KUBECONFIG` leads to the federation."""
        outcome = subprocess.run(
            command,
            input=stdin,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert (outcome.returncode == 0) is succeeds, f"{command}: {outcome.stdout}{outcome.stderr}"
        return outcome.stdout + outcome.stderr

    def kubectl(self, *arguments: str, stdin: str = "", succeeds: bool = True) -> str:
        return self.run("kubectl", *arguments, stdin=stdin, succeeds=succeeds)

    def karmadactl(self, *arguments: str, succeeds: bool = True) -> str:
        return self.run(str(Path(sys.executable).parent / "karmadactl"), *arguments, succeeds=succeeds)

    def on_a_terminal(self, *arguments: str, types: str) -> str:
        """What `karmadactl` shows on a terminal on which somebody types, then ends the input."""
        ours, theirs = pty.openpty()
        command = [str(Path(sys.executable).parent / "karmadactl"), *arguments]
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=self.environment)
        os.close(theirs)
        os.write(ours, f"{types}exit\n".encode())
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is gone when the last who holds it ends
            while chunk := os.read(ours, 4096):
                shown += chunk
        os.close(ours)
        assert process.wait(30) == 0, shown
        return shown.decode()

    def apply(self, text: str, *flags: str, succeeds: bool = True) -> str:
        """`kubectl apply` with strict validation."""
        return self.kubectl("apply", "--validate=strict", *flags, "-f", "-", stdin=text, succeeds=succeeds)

    def get(self, kind: str, name: str, namespace: str = "default", context: str = HUB) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            self.kubectl("--context", context, "get", kind, name, "-n", namespace, "-o", "json")
        )
        return found

    def placement(self, binding: str = "nginx-deployment") -> dict[str, int]:
        """Cluster to replicas, as scheduled."""
        shares = self.get("rb", binding)["spec"].get("clusters") or ()
        return {share["name"]: share.get("replicas", 0) for share in shares}

    def eventually(self, check: Callable[[], T], expected: object = None, seconds: float = PATIENCE) -> T:
        """Ask until the answer is true, or the expected one."""
        deadline, last = time.monotonic() + seconds, None
        while time.monotonic() < deadline:
            try:
                found = check()
                if found == expected if expected is not None else found:
                    return found
                last = found
            except (AssertionError, KeyError, IndexError) as error:
                last = error
            time.sleep(0.1)
        raise AssertionError(f"did not happen; last: {last!r}")

    def clean(self) -> None:
        """Remove what a test applied, and wait until it is gone everywhere."""
        self.kubectl("delete", "pp,op", "--all", "-n", "default")
        self.kubectl("delete", "cpp,cop", "--all")
        self.kubectl("delete", "resourceinterpretercustomizations,replicaschedulingpolicies", "--all")
        self.kubectl("delete", DIRTY, "--all", "-n", "default")
        self.eventually(lambda: self.kubectl("get", "rb", "-A"), "No resources found\n")
        self.eventually(lambda: "nginx" not in self.kubectl("get", "work", "-A"))


@pytest.fixture(scope="session")
def federation_of_documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Documents]:
    if shutil.which("kubectl") is None:
        pytest.fail("the documents are tested with real kubectl: put it on PATH")
    home = tmp_path_factory.mktemp("federation")
    karmada = [sys.executable, "-m", "karmada.standalone.main"]
    data = ["--data", str(home)]
    start = [*karmada, "up", "--detach", "--memory", "--fleet", str(HERE / "fleet.yaml"), *data]
    try:
        subprocess.run(start, check=True, timeout=180, stdout=subprocess.DEVNULL)
        yield Documents(home)
    finally:
        subprocess.run([*karmada, "down", *data], check=True, timeout=60, stdout=subprocess.DEVNULL)


@pytest.fixture
def documents(federation_of_documents: Documents) -> Iterator[Documents]:
    yield federation_of_documents
    federation_of_documents.clean()


@pytest.fixture
def helm() -> str:
    """Helm from PATH, or built once."""
    return programs.helm()


@pytest.fixture
def engine() -> Callable[[str], str]:
    """Makes the engine inside Argo CD or Flux, wrapped in a program of `engines`."""

    return lambda name: programs.engine(name, "sync", ".")
