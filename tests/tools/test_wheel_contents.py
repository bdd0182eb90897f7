"""What is left out of the wheel is there, and nothing that is in the wheel imports it."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
EXCLUDED = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]
LEFT_OUT = [ROOT / path for path in EXCLUDED]


def is_left_out(path: Path) -> bool:
    return any(path == left or left in path.parents for left in LEFT_OUT)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_everything_that_is_left_out_exists() -> None:
    assert [path for path in LEFT_OUT if not path.exists()] == []


def test_no_module_of_the_wheel_imports_one_that_is_left_out() -> None:
    outside = [module_of(path) for path in LEFT_OUT]
    lost = {
        (str(path.relative_to(SOURCE)), name)
        for path in SOURCE.rglob("*.py")
        if not is_left_out(path)
        for name in imports(path)
        if any(name == module or name.startswith(f"{module}.") for module in outside)
    }
    assert lost == set()
