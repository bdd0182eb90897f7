"""The stock programs of the stage: kube-apiserver, kube-controller-manager, etcd and its tools, built into a cache.

Go builds them from its module proxy by `tests/engine/go.mod` of the checkout, which alone says their versions. A
finished program carries its version in its name and is never built again. One builder at a time: whoever comes second
waits.

`python -m karmada.testing.stage.programs` builds all of them and prints where they are.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parents[4] / "tests" / "engine"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karmada" / "bin"
MODULES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes",
    "kube-controller-manager": "k8s.io/kubernetes",
}
TOOLS = {"etcdctl": "go.etcd.io/etcd/etcdctl/v3", "etcdutl": "go.etcd.io/etcd/etcdutl/v3"}
NO_GO = "needs Go to build kube-apiserver, kube-controller-manager and etcd"


def version(name: str) -> str:
    """The version `go.mod` asks for."""
    module = (MODULES | TOOLS)[name]
    found = re.search(rf"^\t{re.escape(module)} (v\S+)", (HERE / "go.mod").read_text(), re.MULTILINE)
    assert found, module
    return found[1]


def where(name: str) -> Path:
    """Where a program is, or will be."""
    return CACHE / f"{name}-{version(name)}"


def missing() -> str | None:
    """Why the programs can neither be used nor built here, in one line."""
    if all(where(name).exists() for name in (*MODULES, *TOOLS)) or shutil.which("go"):
        return None
    return NO_GO


def program(name: str) -> Path:
    """A program, built if it is not there yet: minutes of two cores the first time."""
    path = where(name)
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with _alone():
            if not path.exists():
                _build(name, path)
    return path


@contextmanager
def _alone() -> Iterator[None]:
    with (CACHE / ".building").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(name: str, path: Path) -> None:
    module = (MODULES | TOOLS)[name]
    package = f"{module}/cmd/{name}" if module == "k8s.io/kubernetes" else module
    unfinished = path.with_name(f".{path.name}")
    jobs = os.environ.get("KARMADA_BUILD_JOBS", str(os.cpu_count() or 1))
    command = [
        "go",
        "build",
        "-p",
        jobs,
        "-trimpath",
        "-ldflags",
        _version_flags(version(name)),
        "-o",
        str(unfinished),
        package,
    ]
    sys.stderr.write(f"building {name} {version(name)} ...\n")
    subprocess.run(command, cwd=HERE, check=True, env={**os.environ, "CGO_ENABLED": "0"})
    unfinished.rename(path)


def _version_flags(release: str) -> str:
    """Linker flags that let `/version` show the release: a build from a module knows nothing of it."""
    major, minor, _ = release.removeprefix("v").split(".")
    values = {"gitVersion": release, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(
        ["-s", "-w", *(f"-X {package}.{key}={value}" for package in packages for key, value in values.items())]
    )


if __name__ == "__main__":
    if reason := missing():
        sys.exit(reason)
    for each in (*MODULES, *TOOLS):
        sys.stdout.write(f"{program(each)}\n")
