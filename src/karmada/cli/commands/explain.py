"""`karmadactl explain`: what a server says about the fields of its kinds."""

import textwrap
from collections.abc import Iterator

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.openapi import Schema, schema_of
from karmada.cli.reading import scoped
from karmada.cli.session import Session

WIDTH = 80
SHOWN = 4
"""How many values of a list of fields' values are shown."""


async def run(session: Session, flags: Values) -> None:
    """Explain a kind, or a field of it."""
    if len(flags.arguments) != 1:
        raise CommandError(
            'You must specify the type of resource to explain. Use "karmadactl api-resources" for a list'
        )
    access = await scoped(session, flags)
    word, *fields = flags.arguments[0].split(".")
    wanted = f"{word}.{flags.api_version}" if flags.api_version else word
    kind = await access.kinds.find(_spelled(wanted, word, flags.api_version))
    schema = await schema_of(access.transport, kind)
    if schema is None:
        raise CommandError(f'the server has no schema of "{kind.type.resource}"')
    field, name = schema, ""
    for name in fields:
        below = field.inner.fields.get(name)
        if below is None:
            from difflib import get_close_matches

            close = get_close_matches(name, list(field.inner.fields), 1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise CommandError(f'field "{name}" does not exist{hint}')
        field = below
    group, version, _ = kind.type
    lines = [*([f"GROUP:      {group}"] if group else []), f"KIND:       {kind.kind}", f"VERSION:    {version}", ""]
    if name:
        values = ["ENUM:", *(f"    {value}" for value in field.enum)] if field.enum else [""]
        lines += [f"FIELD: {name} <{field.type_name}>", *values, ""]
    text = "\n".join(dict.fromkeys([*field.descriptions, *field.inner.descriptions]))
    lines += ["DESCRIPTION:", *(_wrapped(f"{text}\n", "    ") if text else ["    <empty>"])]
    if field.inner.fields:
        lines += ["FIELDS:", *_fields(field.inner, "  ", flags.recursive)]
    session.print("\n".join([*lines, ""]))


def _spelled(wanted: str, word: str, api_version: str) -> str:
    """A kind in a version, as kinds are looked up."""
    if not api_version:
        return wanted
    group, _, version = api_version.rpartition("/")
    return f"{word}.{version}.{group}" if group else word


def _fields(schema: Schema, indent: str, recursive: bool, depth: int = 0) -> Iterator[str]:
    for name, field in sorted(schema.fields.items()):
        needed = " -required-" if name in schema.required else ""
        yield f"{indent}{name}\t<{field.type_name}>{needed}"
        if field.enum:
            shown = [str(value) or '""' for value in field.enum[:SHOWN]] + ["...."] * (len(field.enum) > SHOWN)
            yield f"{indent}enum: {', '.join(shown)}"
        if recursive:
            # Some kinds contain themselves (schemas of custom resources).
            if field.inner.fields and depth < 16:
                yield from _fields(field.inner, indent + "  ", recursive, depth + 1)
            continue
        yield from _wrapped(field.description or "<no description>", indent + "  ")
        yield ""


def _wrapped(text: str, indent: str) -> Iterator[str]:
    wrapper = textwrap.TextWrapper(WIDTH, initial_indent=indent, subsequent_indent=indent)
    wrapper.break_long_words = wrapper.break_on_hyphens = wrapper.expand_tabs = wrapper.replace_whitespace = False
    for paragraph in text.split("\n"):
        yield from wrapper.wrap(paragraph) or [indent]


COMMAND = Command(
    "explain",
    "TYPE[.FIELD...]",
    "Show the fields of a kind and what they mean, as the server documents it.",
    run,
    (
        *common.CONNECTION,
        common.operation_scope("karmada", "members"),
        common.cluster_flag(),
        Flag("api-version", "", "The API version to explain."),
        Flag("output", "plaintext", "plaintext.", "o"),
        Flag("recursive", False, "Show the fields of fields too."),
    ),
    examples="""
karmadactl explain propagationpolicy.spec.placement
karmadactl explain deployment.spec --recursive
""",
)
