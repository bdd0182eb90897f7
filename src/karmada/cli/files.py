"""Objects from files, directories, kustomizations, URLs and standard input."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from karmada.cli.failures import CommandError
from karmada.cli.flags import Values

JSONObject = dict[str, Any]
SUFFIXES = (".yaml", ".yml", ".json")
PATIENCE = 30.0
"""Seconds that a web server may keep silent."""
LARGEST = 64 << 20
"""Bytes of a download; no collection of manifests has more."""


class Found(NamedTuple):
    """An object and where it stands."""

    item: JSONObject
    file: str
    text: str
    document: int
    """Its number among the documents of the text."""
    inside: tuple[str | int, ...] = ()
    """Its place in the document, if that is a list of objects."""

    def place(self, path: Sequence[str | int] = ()) -> str:
        """The file and the line of a field of it."""
        from karmada.api.yaml_lines import line_of

        return f"{self.file}:{line_of(self.text, self.document, (*self.inside, *path))}"


def read_objects(flags: Values) -> list[JSONObject]:
    """All objects that `-f` (and `-k`, where supported) name; lists are taken apart."""
    return [found.item for found in find_objects(flags)]


def find_objects(flags: Values) -> list[Found]:
    """The same, with the places where they stand."""
    if flags.kustomize:
        if flags.filename:
            raise CommandError("only one of -f or -k can be specified")
        return list(found_in(_built(flags.kustomize, flags.environment), flags.kustomize))
    if not flags.filename:
        raise CommandError("must specify one of -f and -k")
    found = [item for source in flags.filename for item in _source(source, flags)]
    if not found:
        raise CommandError("no objects passed to apply")
    return found


def _source(source: str, flags: Values) -> Iterable[Found]:
    if source == "-":
        yield from found_in(flags.input.read(), "standard input")
        return
    if source.startswith(("http://", "https://")):
        yield from found_in(_downloaded(source), source)
        return
    path = Path(source)
    if not path.exists():
        raise CommandError(f'the path "{source}" does not exist')
    files = [path]
    if path.is_dir():
        listed = path.rglob("*") if flags.recursive else path.glob("*")
        files = sorted(file for file in listed if file.suffix in SUFFIXES and file.is_file())
    for file in files:
        yield from found_in(file.read_text(), str(file))


def _built(folder: str, environment: Mapping[str, str]) -> str:
    """What a kustomization makes; kustomize itself is not part of this program."""
    import shutil
    import subprocess

    for program, *words in (("kubectl", "kustomize"), ("kustomize", "build")):
        found = shutil.which(program, path=environment.get("PATH"))
        if found:
            done = subprocess.run([found, *words, folder], env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CommandError(done.stderr.strip().removeprefix("error: ").removeprefix("Error: "))
            return done.stdout
    raise CommandError("-k needs kubectl or kustomize on the PATH: install one of them")


def _downloaded(url: str) -> str:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    from karmada.machinery.os_errors import spelled

    try:
        with urlopen(url, timeout=PATIENCE) as answer:
            body: bytes = answer.read(LARGEST + 1)
    except HTTPError as error:
        message = f"server reported {error.code} {error.reason}, status code={error.code}"
        raise CommandError(f'unable to read URL "{url}", {message}') from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        message = spelled(reason) if isinstance(reason, BaseException) else str(reason)
        raise CommandError(f'unable to read URL "{url}": {message}') from None
    if len(body) > LARGEST:
        raise CommandError(f'unable to read URL "{url}": it has more than {LARGEST >> 20} MiB')
    return body.decode(errors="replace")


def read_text(path: str) -> str:
    """A file that a flag names."""
    try:
        return Path(path).read_text()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error


def parse(text: str, name: str) -> Iterable[JSONObject]:
    """The objects of a text."""
    return (found.item for found in found_in(text, name))


def objects_of(source: str | Path) -> Iterable[Found]:
    """The objects in a file or in a YAML text; raises `CommandError` for a text that is the name of a file."""
    if isinstance(source, Path):
        return found_in(source.read_text(), str(source))
    if "\n" not in source and source.endswith(SUFFIXES):
        raise CommandError(f'a text is YAML itself: for the file write Path("{source}")')
    return found_in(source, "manifest")


def found_in(text: str, name: str) -> Iterable[Found]:
    """The same, with the places where they stand."""
    from karmada.api import yaml

    try:
        documents = list(yaml.load_all(text))
    except yaml.YAMLError as error:
        raise CommandError(f"error parsing {name}: {error}") from error
    for number, document in enumerate(documents):
        if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
            raise CommandError(f"{name}: a document lacks apiVersion or kind")
        if document["kind"].endswith("List") and isinstance(document.get("items"), list):
            for index, item in enumerate(document["items"]):
                yield Found(item, name, text, number, ("items", index))
        else:
            yield Found(document, name, text, number)
