"""The image of deploy/Dockerfile, made without a builder: it is small, and everything in it starts locked down."""

import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.deploy import image
from tests.deploy.image import Mount, Stage

from karmada.api.version import VERSION

pytestmark = pytest.mark.tools
LIMIT = 200 * 10**6
"""Bytes of all files that the Dockerfile adds to its base image, unpacked."""
NOBODY = 65532
STARTING_SECONDS = 120
LOOK_AROUND = """
import json, os
refused = []
for folder in ("/", "/bin", "/etc", "/opt/karmada", "/usr", "/var"):
    try:
        open(folder + "/written", "w")
    except OSError as error:
        refused.append(folder)
open("/tmp/written", "w")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
found = {"ids": [os.getuid(), os.getgid(), *os.getgroups()], "refused": refused, "caps": status["CapEff"].strip()}
print(json.dumps(found))
"""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    image.needs_namespaces()
    folder = tmp_path / "image"
    yield image.build(image.ROOT / "deploy" / "Dockerfile", image.ROOT, folder)
    shutil.rmtree(folder)  # Half a gigabyte, which pytest would keep for three more runs.


def run(stage: Stage, *command: str) -> tuple[int, str, str]:
    """What a program says, as a container without rights on a read-only file system."""
    line = image.inside(stage, command, read_only=True, has_network=True)
    done = subprocess.run(line, capture_output=True, text=True, timeout=STARTING_SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr


@contextlib.contextmanager
def serving(stage: Stage, data: Path) -> Iterator[str]:
    """The address of an API server whose only writable folders are its data and /tmp."""
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)
    command = ["/bin/karmada-apiserver", "--data-dir=/data", "--secure-port=0"]
    line = image.inside(stage, command, [Mount(data, "/data", is_writable=True)], read_only=True, has_network=True)
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            lines = []
            for text in process.stdout:
                lines.append(text)
                if found := re.search(r"serving on (https://\S+)", text):
                    yield found[1]
                    break
            else:
                pytest.fail("the API server ended: " + "".join(lines))
            (first,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(first), signal.SIGTERM)
            assert process.wait(STARTING_SECONDS) == 0
        finally:
            process.kill()


def test_the_image_is_small_and_its_programs_start_without_rights_on_a_read_only_file_system(
    stage: Stage, tmp_path: Path
) -> None:
    assert image.added(stage) <= LIMIT
    assert not list(stage.root.glob("opt/karmada/lib/*/site-packages/pip*"))
    code, out, err = run(stage, "/opt/karmada/bin/python", "-c", LOOK_AROUND)
    assert code == 0, err
    seen = json.loads(out)
    assert set(seen["ids"]) == {NOBODY}
    assert int(seen["caps"], 16) == 0
    assert seen["refused"] == ["/", "/bin", "/etc", "/opt/karmada", "/usr", "/var"]

    links = [link.name for link in (stage.root / "bin").iterdir() if link.is_symlink()]
    programs = sorted(name for name in links if "karmada" in name)
    assert "karmada-apiserver" in programs
    with ThreadPoolExecutor(2) as pool:
        answered = pool.map(lambda name: run(stage, f"/bin/{name}", "--version"), programs)
        answers = dict(zip(programs, answered, strict=True))
    answers.pop("kubectl_complete-karmada")  # It completes whatever words it gets.
    for program, (code, out, err) in answers.items():
        assert (code, err) == (0, ""), program
        assert VERSION in out, program
    code, out, _ = run(stage, *stage.command)
    assert code == 0
    assert "karmadactl" in out

    with serving(stage, tmp_path / "data") as address:
        trust = ssl.create_default_context(cafile=tmp_path / "data" / "pki" / "ca.crt")
        with urllib.request.urlopen(f"{address}/healthz", context=trust, timeout=STARTING_SECONDS) as answer:
            assert answer.read() == b"ok"
