"""All fuzzers of decoders, by name, and the inputs that are always tried."""

import ast
from pathlib import Path
from typing import Any

from tests.fuzz.decoders import expressions, objects, patches, wire, yaml_text
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target for module in (expressions, objects, patches, wire, yaml_text) for target in module.TARGETS
}
_CORPUS = Path(__file__).with_name("corpus")


def corpus(name: str) -> list[Any]:
    """The committed inputs of a fuzzer: one Python literal per line, `*` and `+` of literals included."""
    path = _CORPUS / f"{name}.txt"
    if not path.exists():
        return []
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [_value(ast.parse(line, mode="eval").body) for line in lines]


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        return left * right if isinstance(node.op, ast.Mult) else left + right
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    return ast.literal_eval(node)
