"""Carries out deploy/Dockerfile without a builder: each step in a file system of its own, by `unshare` and `chroot`.

In place of the base image stands this machine's Python, bound read-only, with the shared libraries that it and its own
modules load, a shell and a few programs: any other library or program is absent, as in a slim image (unless Python is
Debian's own, in /usr with all others). Steps have no network; wheels lie in a folder, downloaded from pip's index
before, and the Dockerfile's own steps check their hashes.
"""

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karmada"
PYTHON = Path(sys.base_prefix).resolve()
PROGRAMS = ("sh", "find", "ln", "rm")
DEVICES = ("null", "zero", "random", "urandom")
IN_EVERY_DEBIAN = (
    *("libm.so.6", "libdl.so.2", "libpthread.so.0", "libresolv.so.2", "librt.so.1", "libutil.so.1"),
    *("libnss_dns.so.2", "libnss_files.so.2", "libgcc_s.so.1", "libstdc++.so.6"),
)
"""The C library's other files, and what the slim base has because its package manager loads it."""
PATH = f"{PYTHON}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
STEP_SECONDS = 900


class Instruction(NamedTuple):
    """A line of a Dockerfile."""

    word: str
    rest: str


class Mount(NamedTuple):
    """A folder that is seen inside at another path."""

    source: Path
    target: str
    is_writable: bool = False


@dataclass
class Stage:
    """A root file system and what the instructions before set."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    command: list[str] = field(default_factory=list)
    base: frozenset[str] = frozenset()
    """Files that came with the base image."""


def instructions(text: str) -> Iterator[Instruction]:
    """Lines of a Dockerfile, continued ones joined."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    for line in joined.splitlines():
        if line.strip():
            word, rest = line.split(maxsplit=1)
            yield Instruction(word, rest.strip())


def wheels() -> Path:
    """A folder with everything that the locks name, downloaded once."""
    locks = [ROOT / "requirements.lock", ROOT / "requirements-production.lock"]
    text = b"".join(lock.read_bytes() for lock in locks) + sys.version.encode()
    folder = CACHE / f"wheels-{hashlib.sha256(text).hexdigest()[:12]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".downloading-wheels").open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if not folder.exists():
            draft = folder.with_name(f".{folder.name}")
            shutil.rmtree(draft, ignore_errors=True)
            download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            for lock in locks:
                command = [*download, "--require-hashes", "--only-binary=:all:", "-d", str(draft), "-r", str(lock)]
                subprocess.run(command, check=True, timeout=STEP_SECONDS)
            draft.rename(folder)
    return folder


def needs_namespaces() -> None:
    """Skip the test where namespaces and mounts are not allowed."""
    if os.geteuid():
        pytest.skip("needs root to mount and to change the root folder")
    for program in ("unshare", "chroot", "mount", "ldd"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        pytest.skip(f"needs the permission to mount in a namespace of its own: {tried.stderr.strip()}")


def inside(
    stage: Stage, command: Sequence[str], mounts: Sequence[Mount] = (), *, read_only: bool, has_network: bool
) -> list[str]:
    """A command line that runs another one in a stage's file system, with mounts that end with it."""
    root = stage.root
    wanted: list[list[str | Path]] = [["--bind", root, root]]
    for mount in (Mount(PYTHON, str(PYTHON)), *mounts):
        target = root / mount.target.lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        wanted.append(["--bind", mount.source, target])
        if not mount.is_writable:
            wanted.append(["-o", "remount,bind,ro", target])
    wanted += [["--bind", f"/dev/{device}", root / "dev" / device] for device in DEVICES]
    wanted.append(["-t", "proc", "proc", root / "proc"])
    wanted.append(["-t", "tmpfs", "-o", "mode=1777,nosuid,nodev", "tmp", root / "tmp"])
    if read_only:
        wanted.append(["-o", "remount,bind,ro", root])
    (root / stage.folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
    script = [shlex.join(["mount", *map(str, words)]) for words in wanted]
    group = stage.user.partition(":")[2]
    script.append(f'exec chroot --userspec={stage.user} --groups={group} {shlex.quote(str(root))} "$@"')
    spaces = ["--mount", "--pid", "--fork", "--kill-child", *([] if has_network else ["--net"])]
    settings = [f"{name}={value}" for name, value in stage.environment.items()]
    line = f"cd {shlex.quote(stage.folder)} && exec " + shlex.join(command)
    start = ["/usr/bin/env", "-i", "HOME=/", f"PATH={PATH}", *settings]
    changed = ["sh", "-euc", " && ".join(script), "sh", "/bin/sh", "-euc", line]
    return [*start, shutil.which("unshare") or "unshare", *spaces, *changed]


def build(dockerfile: Path, context: Path, folder: Path) -> Stage:
    """The last stage of a Dockerfile, in a folder."""
    offered = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheelhouse", "PIP_CONFIG_FILE": "/dev/null"}
    mounts = [Mount(wheels(), "/wheelhouse")]
    stages: dict[str, Stage] = {}
    stage = Stage(folder)
    for word, rest in instructions(dockerfile.read_text()):
        match word:
            case "ARG":
                pass
            case "FROM":
                name = rest.partition(" AS ")[2] or str(len(stages))
                stage = stages[name] = Stage(folder / name)
                _base(stage.root)
                stage.base = frozenset(path for path, _ in _files(stage.root))
            case "ENV":
                for pair in shlex.split(rest):
                    name, _, stage.environment[name] = pair.partition("=")
            case "WORKDIR":
                stage.folder = rest
                (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "USER":
                stage.user = rest
            case "CMD":
                stage.command = re.findall(r'"([^"]*)"', rest)
            case "COPY":
                _copy(rest, stage, context, stages)
            case "RUN":
                building = Stage(stage.root, {**stage.environment, **offered}, stage.folder, stage.user)
                command = inside(building, ["/bin/sh", "-ec", rest], mounts, read_only=False, has_network=False)
                done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_SECONDS, check=False)
                assert done.returncode == 0, f"{rest}\n{done.stdout}{done.stderr}"
            case _:
                raise ValueError(f"no such instruction here: {word}")
    return stage


def added(stage: Stage) -> int:
    """Bytes of all files of a stage that are not the base's: what its layers take when unpacked."""
    return sum(size for path, size in _files(stage.root) if path not in stage.base)


def _base(root: Path) -> None:
    """What the steps find of a slim image with Python."""
    for name in ("bin", "dev", "etc", "proc", "tmp", "usr/bin", "var"):
        (root / name).mkdir(parents=True)
    for device in DEVICES:
        (root / "dev" / device).touch()
    programs = [Path(shutil.which(name) or name) for name in PROGRAMS]
    for program in programs:
        shutil.copy(program, root / "bin" / program.name)
    interpreter = PYTHON / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (PYTHON / "bin" / "python").exists():
        (root / "bin" / "python").symlink_to(interpreter)
    modules = Path(os.__file__).parent / "lib-dynload"
    loaded = _libraries([*programs, interpreter, *modules.glob("*.so")])
    beside = Path(next(path for path in loaded if Path(path).name == "libc.so.6")).parent
    for library in {*loaded, *(str(beside / name) for name in IN_EVERY_DEBIAN if (beside / name).exists())}:
        target = root / library.lstrip("/")
        if not target.is_relative_to(root / str(PYTHON).lstrip("/")) and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)


def _libraries(files: Sequence[Path]) -> set[str]:
    """Paths of the shared libraries that programs and modules load."""
    shown = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    return {found[1] for line in shown.splitlines() if (found := re.search(r"(/\S+) \(0x", line))}


def _copy(rest: str, stage: Stage, context: Path, stages: Mapping[str, Stage]) -> None:
    """A COPY, of the source tree or of an earlier stage."""
    *sources, target = rest.split()
    origin = context
    if sources[0].startswith("--from="):
        origin = stages[sources.pop(0).removeprefix("--from=")].root
    into = stage.root / os.path.join(stage.folder, target).lstrip("/")
    for source in sources:
        path = origin / source.lstrip("/")
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__") if origin is context else None
            shutil.copytree(path, into, symlinks=True, dirs_exist_ok=True, ignore=ignored)
        else:
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, into)


def _files(root: Path) -> Iterator[tuple[str, int]]:
    """Paths and sizes of files; links count as the length of what they name."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield str(path.relative_to(root)), status.st_size
