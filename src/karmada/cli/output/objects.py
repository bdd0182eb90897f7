"""Objects in the formats of `-o`: json, yaml, name, jsonpath, custom-columns, go-template."""

from collections.abc import Callable, Sequence
from typing import Any

from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.output.tabs import aligned

JSONObject = dict[str, Any]
Render = Callable[[list[JSONObject], bool], str]
"""(objects, whether they are shown as a list) -> text."""

FORMATS = (
    "custom-columns",
    "custom-columns-file",
    "go-template",
    "go-template-file",
    "json",
    "jsonpath",
    "jsonpath-as-json",
    "jsonpath-file",
    "name",
    "template",
    "templatefile",
    "wide",
    "yaml",
)


def renderer(flags: Values) -> Render | None:
    """What turns objects into text; None for tables."""
    output = str(flags.output)
    name, equals, argument = output.partition("=")
    if name in ("", "wide"):
        return None
    if name not in FORMATS:
        allowed = ",".join(FORMATS)
        raise CommandError(
            f'unable to match a printer suitable for the output format "{name}", allowed formats are: {allowed}'
        )
    if not equals:
        argument = getattr(flags, "template", "")
    if name.endswith("file"):
        argument = _content(argument)
    allow_missing = bool(getattr(flags, "allow_missing_template_keys", True))
    match name.removesuffix("-file"):
        case "json":
            return _cleaned(flags, _json)
        case "yaml":
            return _cleaned(flags, _yaml)
        case "name":
            return _names
        case "jsonpath" | "jsonpath-as-json":
            return _jsonpath(_needed(argument, "jsonpath"), allow_missing, name == "jsonpath-as-json")
        case "custom-columns":
            return _columns(_needed(argument, "custom-columns"), not getattr(flags, "no_headers", False))
    return _go_template(_needed(argument, "go-template"), allow_missing)


def as_list(objects: Sequence[JSONObject]) -> JSONObject:
    """Objects as one `List`."""
    return {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {"resourceVersion": ""}}


def _whole(objects: list[JSONObject], listed: bool) -> JSONObject:
    return as_list(objects) if listed else objects[0]


def _json(objects: list[JSONObject], listed: bool) -> str:
    import json

    return json.dumps(_whole(objects, listed), indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def _yaml(objects: list[JSONObject], listed: bool) -> str:
    from karmada.api import yaml

    return yaml.dump(_whole(objects, listed))


def _names(objects: list[JSONObject], listed: bool) -> str:
    return "".join(f"{reference(item)}\n" for item in objects)


def reference(item: JSONObject) -> str:
    """`deployment.apps/shop`."""
    group, _, _ = str(item.get("apiVersion", "")).rpartition("/")
    kind = str(item.get("kind", "")).lower()
    return f"{kind}.{group}/{item['metadata']['name']}" if group else f"{kind}/{item['metadata']['name']}"


def _cleaned(flags: Values, render: Render) -> Render:
    """Without managedFields, unless they are asked for."""
    if getattr(flags, "show_managed_fields", False):
        return render
    return lambda objects, listed: render([without_managed_fields(item) for item in objects], listed)


def without_managed_fields(item: JSONObject) -> JSONObject:
    """The object without the record of who set which field."""
    metadata = item.get("metadata") or {}
    if "managedFields" not in metadata:
        return item
    return {**item, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _jsonpath(template: str, allow_missing: bool, as_json: bool) -> Render:
    from karmada.api.jsonpath import JSONPathError, parse

    try:
        path = parse(template)
    except JSONPathError as error:
        raise CommandError(f"error parsing jsonpath {template}, {error}") from error

    def render(objects: list[JSONObject], listed: bool) -> str:
        data = _whole(objects, listed)
        try:
            if as_json:
                import json

                return json.dumps(path.find(data, allow_missing=allow_missing), indent=4, sort_keys=True) + "\n"
            return path.render(data, allow_missing=allow_missing)
        except JSONPathError as error:
            raise CommandError(f"error executing jsonpath {template!r}: {error}") from error

    return render


def _columns(text: str, headers: bool) -> Render:
    """`NAME:.metadata.name,IMAGE:.spec.image`, or a file with a line of headers and a line of paths."""
    from karmada.api.jsonpath import JSONPathError, parse_relaxed, print_value

    lines = text.strip().splitlines()
    if len(lines) == 2:
        pairs = list(zip(lines[0].split(), lines[1].split(), strict=False))
    else:
        pairs = [(part.partition(":")[0], part.partition(":")[2]) for part in text.strip().split(",")]
    if not all(path for _, path in pairs):
        raise CommandError(f"unexpected custom-columns spec: {text}, expected <header>:<json-path-expr>")
    try:
        paths = [parse_relaxed(path) for _, path in pairs]
    except JSONPathError as error:
        raise CommandError(f"custom-columns: {error}") from error

    def render(objects: list[JSONObject], listed: bool) -> str:
        rows = [[header for header, _ in pairs]] if headers else []
        for item in objects:
            found = [path.find(item) for path in paths]
            rows.append([",".join(map(print_value, values)) if values else "<none>" for values in found])
        return aligned(rows)

    return render


def _go_template(text: str, allow_missing: bool) -> Render:
    from karmada.api.go_template import TemplateError, compile

    try:
        template = compile(text)
    except TemplateError as error:
        raise CommandError(f"error parsing template {text}, {error}") from error

    def render(objects: list[JSONObject], listed: bool) -> str:
        try:
            return template.render(_whole(objects, listed), allow_missing)
        except TemplateError as error:
            raise CommandError(f"error executing template {text!r}: {error}") from error

    return render


def _needed(argument: str, name: str) -> str:
    if not argument:
        raise CommandError(f"template format specified but no template given: write -o {name}=…")
    return argument


def _content(path: str) -> str:
    if not path:
        raise CommandError("template format specified but no template file given")
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise CommandError(f"error reading --template {path}, {error.strerror}") from error
