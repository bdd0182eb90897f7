"""Kubernetes types inside the estimator's messages: quantities, tolerations, node selectors.

Kubernetes' own encoders write every string, the empty ones too.
"""

from karmada.api.meta import Toleration
from karmada.api.protobuf_wire import as_bytes
from karmada.api.quantity import Quantity
from karmada.api.work.v1alpha2 import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from karmada.scheduler.estimators.wire import as_int, as_text, fields, put_bytes, put_varint


def put_quantity(quantity: str | int) -> bytes:
    """A quantity, spelled canonically."""
    out = bytearray()
    put_bytes(out, 1, str(Quantity.parse(quantity)).encode())
    return bytes(out)


def read_quantity(data: bytes) -> str:
    """The spelling of a quantity."""
    return next((as_text(value) for number, value in fields(data) if number == 1), "0") or "0"


def put_toleration(toleration: Toleration) -> bytes:
    """A toleration."""
    out = bytearray()
    texts = (toleration.key, toleration.operator, toleration.value, toleration.effect)
    for number, text in enumerate(texts, 1):
        put_bytes(out, number, text.encode())
    if toleration.toleration_seconds is not None:
        put_varint(out, 5 << 3)
        put_varint(out, toleration.toleration_seconds)
    return bytes(out)


def read_toleration(data: bytes) -> Toleration:
    """A toleration."""
    texts = {1: "", 2: "", 3: "", 4: ""}
    seconds: int | None = None
    for number, value in fields(data):
        if number in texts:
            texts[number] = as_text(value)
        elif number == 5:
            seconds = as_int(value)
    return Toleration(key=texts[1], operator=texts[2], value=texts[3], effect=texts[4], toleration_seconds=seconds)


def put_node_selector(selector: NodeSelector) -> bytes:
    """A node selector."""
    out = bytearray()
    for term in selector.node_selector_terms:
        encoded = bytearray()
        for number, tests in ((1, term.match_expressions), (2, term.match_fields)):
            for test in tests:
                put_bytes(encoded, number, _put_test(test))
        put_bytes(out, 1, encoded)
    return bytes(out)


def read_node_selector(data: bytes) -> NodeSelector:
    """A node selector."""
    return NodeSelector(
        node_selector_terms=tuple(_read_term(as_bytes(value)) for number, value in fields(data) if number == 1)
    )


def _put_test(test: NodeSelectorRequirement) -> bytes:
    out = bytearray()
    put_bytes(out, 1, test.key.encode())
    put_bytes(out, 2, test.operator.encode())
    for value in test.values:
        put_bytes(out, 3, value.encode())
    return bytes(out)


def _read_term(data: bytes) -> NodeSelectorTerm:
    tests: dict[int, list[NodeSelectorRequirement]] = {1: [], 2: []}
    for number, value in fields(data):
        if number in tests:
            tests[number].append(_read_test(as_bytes(value)))
    return NodeSelectorTerm(match_expressions=tuple(tests[1]), match_fields=tuple(tests[2]))


def _read_test(data: bytes) -> NodeSelectorRequirement:
    key = operator = ""
    values = []
    for number, value in fields(data):
        if number == 1:
            key = as_text(value)
        elif number == 2:
            operator = as_text(value)
        elif number == 3:
            values.append(as_text(value))
    return NodeSelectorRequirement(key=key, operator=operator, values=tuple(values))
