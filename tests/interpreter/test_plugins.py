"""Interpreters in Python: the example of the manual works, and one that is broken does not stop the others."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from karmada.interpreter.facade import LayeredInterpreter, native_level
from karmada.interpreter.model import GroupVersionKind, InterpretError, KindRules, Operation, ReplicaNeeds
from karmada.interpreter.plugins import GROUP, installed, load
from karmada.interpreter.rules_level import RulesLevel

MANUAL = Path(__file__).parents[2] / "docs" / "interpreters.md"
WIDGET = GroupVersionKind("example.io", "v1", "Widget")


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    """A folder from which modules can be imported; what was imported is forgotten."""
    before = set(sys.modules)
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in set(sys.modules) - before:
        del sys.modules[name]


def entry_point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def widget(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "w", "namespace": "shop"}
    return {"apiVersion": "example.io/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


async def test_example_of_the_manual_works(package: Path) -> None:
    (example,) = re.findall(r"```python file=interpreter.py\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    (package / "manual_widgets.py").write_text(example)
    plugins = load([entry_point("widgets", "manual_widgets:RULES")])
    assert plugins.problems == ()
    interpreter = LayeredInterpreter(RulesLevel("python plug-in", plugins.rules), native_level())
    assert interpreter.enabled(WIDGET, Operation.REPLICAS)
    assert not interpreter.enabled(WIDGET, Operation.RETAIN)
    assert await interpreter.replicas(widget(size=4)) == ReplicaNeeds(4)
    assert (await interpreter.revise(widget(size=4), 2))["spec"] == {"size": 2}
    assert await interpreter.healthy(widget()) is False
    assert [found.name for found in await interpreter.dependencies(widget(configName="c"))] == ["c"]
    with pytest.raises(InterpretError, match="must not be negative"):
        await interpreter.replicas(widget(size=-1))
    with pytest.raises(InterpretError, match="rule of Widget failed: KeyError"):
        await interpreter.dependencies(widget())


def test_what_is_installed_is_found(package: Path) -> None:
    (package / "installed_widgets.py").write_text(
        "from karmada.interpreter.model import GroupVersionKind, KindRules\n"
        "RULES = {GroupVersionKind('example.io', 'v1', 'Widget'): KindRules(health=lambda observed: True)}\n"
    )
    about = package / "widgets-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: widgets\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nwidgets = installed_widgets:RULES\n")
    assert WIDGET in installed().rules


def test_broken_package_is_a_problem_and_the_others_work(package: Path) -> None:
    (package / "good_rules.py").write_text(
        "from karmada.interpreter.model import GroupVersionKind, KindRules\n"
        "RULES = {GroupVersionKind('example.io', 'v1', 'Widget'): KindRules()}\n"
        "LIST = []\n"
        "TEXTS = {'Widget': KindRules()}\n"
    )
    (package / "bad_rules.py").write_text("import does_not_exist\n")
    plugins = load(
        [
            entry_point("missing", "bad_rules:RULES"),
            entry_point("list", "good_rules:LIST"),
            entry_point("texts", "good_rules:TEXTS"),
            entry_point("good", "good_rules:RULES"),
        ]
    )
    assert plugins.rules == {WIDGET: KindRules()}
    assert [problem.split(" ")[1] for problem in plugins.problems] == ["list", "missing", "texts"]
    assert "does_not_exist" in plugins.problems[1]
