"""Every code block of the documentation is executed somewhere, or says that it is output or an example."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from karmada.testing.federation import Federation

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.glob("*.md"))
INFO = re.compile(r"^ *```(\S.*)$", re.MULTILINE)
FILE = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXECUTED = {
    "autoscaling-and-quota.md": {"web.yaml"},
    "failover.md": {"failover.yaml", "web.yaml"},
    "gateway.md": {"shop.yaml"},
    "how-a-deployment-travels.md": {"web.yaml"},
    "interpreters.md": {"interpreter.py"},
    "production.md": {"karmada.yaml", "web.yaml"},
    "python.md": {"shop.py", "shop.yaml"},
    "quick-start.md": {"policy.yaml"},
    "search.md": {"children.yaml", "registry.yaml"},
    "services.md": {"service.yaml", "kinds.yaml", "export.yaml"},
    "simulated-members.md": {"member.py", "fleet.yaml"},
    "testing-policies.md": {"shop.yaml", "test_shop.py"},
    "tools.md": {"policy.yaml"},
    "writing-a-controller.md": {"copier.py", "main.py", "test_copier.py", "test_copier_in_a_storm.py"},
}
"""The files of each page that a test of this folder, or of the part they are about, executes."""
EXAMPLES = {
    "autoscaling-and-quota.md": 2,
    "benchmarks.md": 1,
    "dashboard.md": 1,
    "failover.md": 1,
    "gateway.md": 3,
    "interpreters.md": 1,
    "kubernetes-compatibility.md": 1,
    "metrics.md": 1,
    "operations.md": 5,
    "quick-start.md": 1,
    "search.md": 2,
    "services.md": 2,
    "simulated-members.md": 3,
}
"""How many blocks of each page are examples: commands that install, measure, or stay in the foreground."""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_block_is_executed_or_marked(page: Path) -> None:
    text = page.read_text()
    infos = [info for info in INFO.findall(text) if info != "mermaid"]
    unmarked = [info for info in infos if not re.search(r" run$| file=\S+$| example$", info)]
    assert unmarked == [], "write `run`, `file=NAME` or `example` after the language; output has none"
    assert {name for name, _ in FILE.findall(text)} == EXECUTED.get(page.name, set())
    assert sum(info.endswith(" example") for info in infos) == EXAMPLES.get(page.name, 0)


def written(page: str, folder: Path) -> None:
    for name, text in FILE.findall((DOCS / page).read_text()):
        (folder / name).write_text(text)


def run(folder: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_documented_controller_runs_when_it_is_pasted(tmp_path: Path) -> None:
    written("writing-a-controller.md", tmp_path)
    run(tmp_path, "-c", "import main")
    output = run(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", ".", "."
    )
    assert "2 passed" in output


def test_the_documented_member_runs(tmp_path: Path) -> None:
    written("simulated-members.md", tmp_path)
    run(tmp_path, "member.py")


def test_the_documented_interpreter_answers(tmp_path: Path) -> None:
    written("interpreters.md", tmp_path)
    code = (
        "from interpreter import RULES; [rules] = RULES.values();"
        'widget = {"metadata": {"namespace": "a"}, "spec": {"size": 2, "configName": "c"}};'
        "assert rules.replicas(widget).replicas == 2;"
        'assert rules.revise(widget, 5)["spec"]["size"] == 5;'
        'assert rules.dependencies(widget)[0].name == "c"'
    )
    run(tmp_path, "-c", code)


async def test_the_documented_failover_policy_is_accepted(tmp_path: Path) -> None:
    written("failover.md", tmp_path)
    async with Federation(members=1) as world:
        await world.apply(tmp_path / "failover.yaml")
