"""Real programs for tests: found on PATH, in the cache, or brought into it, one test process at a time.

kubectl is built by Go from its module proxy; `tools/go.mod` says the version, and it takes minutes the first time. So
are Helm and the programs around the engines inside Argo CD and Flux; their own `go.mod` says which.
Prometheus and promtool come from Debian's package, which is unpacked into the cache and not installed.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
ENGINES = Path(__file__).parent / "documents" / "engines"
HELM = "helm.sh/helm/v3/cmd/helm@v3.18.4"
BUILD_SECONDS = 1800
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karmada" / "bin"


@cache
def kubectl() -> str:
    """Where it is; skips the test where there is neither kubectl nor Go."""
    found = shutil.which("kubectl") or shutil.which("kubectl", path=str(CACHE))
    if found is not None:
        return found
    if shutil.which("go") is None:
        pytest.skip("needs Go to build kubectl, which is not on PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".building-kubectl").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        target = CACHE / "kubectl"
        if not target.exists():
            unfinished = CACHE / ".kubectl"
            command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(unfinished), "./kubectl"]
            subprocess.run(command, cwd=TOOLS, check=True, timeout=BUILD_SECONDS)
            unfinished.rename(target)
    return str(target)


@cache
def helm() -> str:
    """Where it is; skips the test where there is neither Helm nor Go."""
    return shutil.which("helm") or built("helm", ["install", HELM], TOOLS)


@cache
def prometheus() -> tuple[str, str]:
    """Where prometheus and promtool are; skips the test where they are neither there nor to be had from Debian."""
    folder = CACHE / "prometheus"
    search = os.pathsep.join([os.environ.get("PATH", os.defpath), str(folder / "usr" / "bin")])
    if shutil.which("prometheus", path=search) is None:
        if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
            pytest.skip("needs Debian to have Prometheus, which is not on PATH")
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / ".unpacking-prometheus").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                _unpack("prometheus", folder)
    server, tool = shutil.which("prometheus", path=search), shutil.which("promtool", path=search)
    assert server is not None, search
    assert tool is not None, search
    return server, tool


def engine(name: str, purpose: str, package: str) -> str:
    """Where the program is that wraps the engine inside Argo CD or Flux: a package of a module in `ENGINES`."""
    folder = ENGINES / name
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    program = f"{name}-{purpose}-{digest}"
    return built(program, ["build", "-o", str(CACHE / f"{program}.partial"), package], folder)


def built(program: str, command: list[str], folder: Path) -> str:
    """Where a program is that a Go command makes; several test processes build it once."""
    target = CACHE / program
    if not target.exists():
        go = shutil.which("go")
        if go is None:
            pytest.skip(f"needs Go: {program} is built from its module")
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / f".{program}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                environment = {**os.environ, "GOBIN": str(CACHE)}
                subprocess.run([go, *command], cwd=folder, env=environment, check=True, timeout=BUILD_SECONDS)
                partial = CACHE / f"{program}.partial"
                if partial.exists():
                    partial.replace(target)
    return str(target)


def _unpack(package: str, folder: Path) -> None:
    """Download a Debian package and unpack it, without installing anything."""
    draft = folder.with_name(f".{folder.name}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    command = ["apt-get", "download", "-o", "APT::Sandbox::User=root", package]
    subprocess.run(command, cwd=draft, check=True, timeout=300, capture_output=True)
    (archive,) = draft.glob("*.deb")
    subprocess.run(["dpkg", "-x", archive.name, "."], cwd=draft, check=True, timeout=300)
    archive.unlink()
    draft.rename(folder)
