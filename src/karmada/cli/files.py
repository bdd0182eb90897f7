"""Objects from files, directories, URLs on this machine's network and standard input."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from karmada.cli.failures import CommandError
from karmada.cli.flags import Values

JSONObject = dict[str, Any]
SUFFIXES = (".yaml", ".yml", ".json")


def read_objects(flags: Values) -> list[JSONObject]:
    """All objects that `-f` (and `-k`, where supported) name; lists are taken apart."""
    if flags.kustomize:
        raise CommandError("-k needs kustomize: run `kustomize build DIR | karmadactl … -f -`")
    if not flags.filename:
        raise CommandError("must specify one of -f and -k")
    found = [item for source in flags.filename for item in _source(source, flags)]
    if not found:
        raise CommandError("no objects passed to apply")
    return found


def _source(source: str, flags: Values) -> Iterable[JSONObject]:
    if source == "-":
        yield from parse(flags.input.read(), "standard input")
        return
    if source.startswith(("http://", "https://")):
        raise CommandError(f"{source}: download it first: curl -fsSL URL | karmadactl … -f -")
    path = Path(source)
    if not path.exists():
        raise CommandError(f'the path "{source}" does not exist')
    files = [path]
    if path.is_dir():
        listed = path.rglob("*") if flags.recursive else path.glob("*")
        files = sorted(file for file in listed if file.suffix in SUFFIXES and file.is_file())
    for file in files:
        yield from parse(file.read_text(), str(file))


def read_text(path: str) -> str:
    """A file that a flag names."""
    try:
        return Path(path).read_text()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error


def parse(text: str, name: str) -> Iterable[JSONObject]:
    """The objects of a text."""
    from karmada.api import yaml

    try:
        documents = list(yaml.load_all(text))
    except yaml.YAMLError as error:
        raise CommandError(f"error parsing {name}: {error}") from error
    for document in documents:
        if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
            raise CommandError(f"{name}: a document lacks apiVersion or kind")
        if document["kind"].endswith("List") and isinstance(document.get("items"), list):
            yield from document["items"]
        else:
            yield document
