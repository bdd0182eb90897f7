"""Fields that a kind does not have, reported with file, line and the field that was probably meant.

Servers refuse such objects themselves (`fieldValidation=Strict`); what they leave unsaid is where the mistake stands.
Commands that send nothing (`simulate`, `--dry-run=client`) are as strict by the schemas that the server publishes.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from karmada.cli.access import Access
from karmada.cli.failures import SeveralErrors
from karmada.cli.files import Found
from karmada.cli.flags import Values
from karmada.cli.openapi import Schema, schema_of
from karmada.machinery.discovery import ApiResource
from karmada.machinery.transport import Transport

MODES = {"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}
"""What `--validate` asks a server for."""
_FREE = "x-kubernetes-preserve-unknown-fields"


class Unknown(NamedTuple):
    """A field that a schema does not have."""

    path: tuple[str | int, ...]
    known: Sequence[str]
    """The fields that could stand in its place."""

    @property
    def spelled(self) -> str:
        """`spec.rules[0].nme`."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).removeprefix(".")


def mode(flags: Values) -> str:
    """The `fieldValidation` of a command's writes; empty where it has no such flag."""
    return MODES.get(getattr(flags, "validate", ""), "")


def unknown_fields(schema: Schema | None, value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Unknown]:
    """The fields of a value that its schema does not have; a part that may have any fields is not looked into."""
    if schema is None or schema.node.get(_FREE):
        return
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from unknown_fields(schema.element(), item, (*path, number))
    elif isinstance(value, dict):
        closed = bool(schema.fields) and not schema.node.get("additionalProperties")
        for name, item in value.items():
            if closed and name not in schema.fields:
                yield Unknown((*path, name), list(schema.fields))
            else:
                yield from unknown_fields(schema.field(name), item, (*path, name))


async def complaints(transport: Transport, kind: ApiResource, found: Found) -> list[str]:
    """One line for each unknown field of an object, as editors can follow it: `FILE:LINE: ...`."""
    from karmada.explain.nearest import did_you_mean

    schema = await schema_of(transport, kind)
    return [
        f'{found.place(one.path)}: unknown field "{one.spelled}"{did_you_mean(str(one.path[-1]), one.known)}'
        for one in unknown_fields(schema, found.item)
    ]


async def check(access: Access, found: Sequence[Found]) -> None:
    """Refuse objects with unknown fields, all of them at once."""
    from karmada.machinery.discovery import UnknownKind

    lines: list[str] = []
    for one in found:
        try:
            kind = await access.client.mapper.of_kind(one.item["apiVersion"], one.item["kind"])
        except UnknownKind:
            continue  # said by whoever needs the kind
        lines += await complaints(access.transport, kind, one)
    if lines:
        raise SeveralErrors([f"error: {line}" for line in lines] if len(lines) > 1 else lines)


def is_about_fields(message: str) -> bool:
    """Whether a server refused an object because of fields that its kind does not have."""
    return 'unknown field "' in message or "field not declared in schema" in message
