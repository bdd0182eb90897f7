"""Mutation tests: `python -m karmada.testing.mutants PACKAGE [--sample N] [--seed S]`, from a checkout.

Every mutant is one small change to one module of a package: a comparison, a connective, a constant, a result, or a
statement left out. The package's own tests (`tests/PACKAGE`) run against it in a copy of the sources; a mutant that
they do not notice survives. Survivors that change nothing anybody can see are listed with a reason in
`tests/mutants.txt`, one `MODULE: CHANGE: REASON` each, and do not count. Exit status: 0 if at least `--least` percent
are killed.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeGuard

SOURCES, TESTS = Path("src/karmada"), Path("tests")
EQUIVALENT = TESTS / "mutants.txt"
PATIENCE = 5.0
"""A mutant may take this many times as long as no mutant, and half a minute more: one that never ends is killed."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Mutant(NamedTuple):
    """One change to one module."""

    module: Path
    change: str
    """Where and what: unique within the module as long as it is not edited."""
    source: str
    """The changed module."""

    def __str__(self) -> str:
        return f"{self.module}: {self.change}"


def mutants_of(module: Path) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    text = module.read_text()
    found = []
    for index in range(len(list(_places(ast.parse(text))))):
        tree = ast.parse(text)
        line, change = list(_places(tree))[index]
        what = change()
        found.append(Mutant(module, f"line {line}: {what}", ast.unparse(ast.fix_missing_locations(tree))))
    return found


Change = Callable[[], str]
"""Changes a tree in place and says how."""


def _places(tree: ast.Module) -> Iterator[tuple[int, Change]]:
    """The lines of what can be changed, and how."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        for name, field in ast.iter_fields(node):
            if name in ("annotation", "returns") and isinstance(field, ast.AST):
                skipped.update(ast.walk(field))
            elif isinstance(field, list):
                for index, part in enumerate(field):
                    if isinstance(part, ast.AugAssign | ast.Raise) or _is_call(part):
                        yield part.lineno, partial(_leave_out, field, index)
        if node in skipped:
            continue
        match node:
            case ast.Compare():
                yield from ((node.lineno, partial(_compare, node, index)) for index in range(len(node.ops)))
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool() | int()):
                yield node.lineno, partial(_turn, node)
            case ast.Return(value=value) if value is not None and not _is_none(value):
                yield node.lineno, partial(_turn, node)


def _leave_out(statements: list[ast.stmt], index: int) -> str:
    before = ast.unparse(statements[index]).partition("\n")[0]
    statements[index] = ast.Pass()
    return f"`{before}` left out"


def _compare(node: ast.Compare, index: int) -> str:
    before = ast.unparse(node)
    node.ops[index] = _COMPARISONS[type(node.ops[index])]()
    return f"`{before}` becomes `{ast.unparse(node)}`"


def _turn(node: ast.BoolOp | ast.UnaryOp | ast.Constant | ast.Return) -> str:
    before = ast.unparse(node)
    match node:
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value)):
            node.value = value + 1
        case ast.Return():
            node.value = ast.Constant(None)
    return f"`{before}` becomes `{ast.unparse(node)}`"


def _is_call(node: object) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


Passes = Callable[[Path, float | None], bool]
"""Whether the tests pass on the sources in a folder, within some seconds."""


def own_tests(tests: Sequence[str]) -> Passes:
    """Run tests of this checkout on other sources."""

    def passes(sources: Path, limit: float | None) -> bool:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
        environment = {**os.environ, "PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ended = subprocess.run(command, env=environment, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return False
        return ended.returncode == 0

    return passes


class Laboratory:
    """A copy of the sources in which mutants live, one after the other."""

    def __init__(self, sources: Path, folder: Path, passes: Passes) -> None:
        self._copy = folder / "src"
        self._sources = sources
        self._passes = passes
        shutil.copytree(sources, self._copy, ignore=shutil.ignore_patterns("__pycache__"))
        started = time.monotonic()
        if not passes(self._copy, None):
            raise SystemExit("the tests fail without any mutant")
        self._limit = PATIENCE * (time.monotonic() - started) + 30

    def kills(self, mutant: Mutant) -> bool:
        """Whether a test notices."""
        target = self._copy / mutant.module.relative_to(self._sources)
        original = target.read_text()
        target.write_text(mutant.source)
        try:
            return not self._passes(self._copy, self._limit)
        finally:
            target.write_text(original)


def equivalent() -> dict[str, str]:
    """Mutants that change nothing anybody can see, and why."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    return dict(line.rsplit(": ", 1) for line in lines if line and not line.startswith("#"))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Run a sample of the mutants of one package and report."""
    parser = argparse.ArgumentParser(prog="python -m karmada.testing.mutants", description="Run mutation tests.")
    parser.add_argument("package", help="below karmada, such as policies or scheduler/core")
    parser.add_argument("--tests", nargs="+", default=None, help="tests to run (default: those of the package)")
    parser.add_argument("--sample", type=int, default=0, help="how many mutants, chosen by chance (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=95.0, help="percent that must be killed")
    options = parser.parse_args(arguments)
    tests = options.tests or [str(TESTS / Path(options.package).parts[0])]
    found = [mutant for module in sorted((SOURCES / options.package).rglob("*.py")) for mutant in mutants_of(module)]
    known = equivalent()
    chosen = [mutant for mutant in found if str(mutant) not in known]
    if options.sample and options.sample < len(chosen):
        chosen = sorted(random.Random(options.seed).sample(chosen, options.sample), key=str)
    killed = 0
    with tempfile.TemporaryDirectory(prefix="karmada-mutants-") as folder:
        laboratory = Laboratory(SOURCES.parent, Path(folder), own_tests(tests))
        for mutant in chosen:
            if laboratory.kills(mutant):
                killed += 1
            else:
                _say(f"survived {mutant}")
    rate = 100 * killed / max(1, len(chosen))
    harmless = sum(str(mutant) in known for mutant in found)
    counted = f"{killed} of {len(chosen)} mutants killed ({rate:.0f} %)"
    _say(f"{options.package}: {counted}; {len(found)} in all, {harmless} of them equivalent")
    return 0 if rate >= options.least else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
