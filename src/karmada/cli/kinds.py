"""From the words people use for kinds (`deploy`, `deployments.apps`, `Deployment`) to what the server calls them."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from karmada.cli.failures import CommandError
from karmada.machinery.discovery import ApiResource, discover, documents
from karmada.machinery.transport import Transport

if TYPE_CHECKING:
    from karmada.machinery.rest_mapper import RESTMapper

NOTHING_NAMED = """You must provide one or more resources by argument or filename.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
   '<resource> <name>'
   '<resource>'"""


class Wanted(NamedTuple):
    """A kind and a name of it; no name means all."""

    kind: ApiResource
    name: str = ""


class UnknownResource(CommandError):
    """The server does not have such a kind."""


class NoMapping(CommandError):
    """The server has no kind by the version and name that an object gives."""

    def __init__(self, reason: str, about: str = "") -> None:
        super().__init__(f"resource mapping not found{about}: {reason}\nensure CRDs are installed first")
        self.reason = reason


class Kinds:
    """The kinds of one server."""

    def __init__(self, transport: Transport, *, quick: bool = False) -> None:
        """`quick` is for a single question without an event loop."""
        self._transport = transport
        self._quick = quick
        self._known: list[ApiResource] = []

    @cached_property
    def _mapper(self) -> "RESTMapper":
        from karmada.machinery.rest_mapper import RESTMapper

        return RESTMapper(self._transport)

    async def all(self) -> list[ApiResource]:
        """Every kind."""
        if not self._quick:
            return await self._mapper.all()
        if not self._known:
            self._known = (await discover(self._transport, await documents(self._transport))).resources
        return self._known

    async def of(self, api_version: str, kind: str) -> ApiResource:
        """The kind of an object."""
        from karmada.machinery.discovery import UnknownKind

        try:
            return await self._mapper.of_kind(api_version, kind)
        except UnknownKind:
            raise NoMapping(f'no matches for kind "{kind}" in version "{api_version}"') from None

    async def find(self, word: str) -> ApiResource:
        """The kind a word means; earlier groups and preferred versions win."""
        known = await self.all()
        name, _, group = word.lower().partition(".")
        version = ""
        if group:
            first, _, rest = group.partition(".")
            if any(kind.type.version == first and kind.type.group == rest for kind in known):
                version, group = first, rest
        for kind in known:
            if group and kind.type.group != group and not kind.type.group.startswith(group + "."):
                continue
            if version and kind.type.version != version:
                continue
            if name in (kind.type.resource, kind.singular, kind.kind.lower(), *kind.short_names):
                return kind
        raise UnknownResource(f'the server doesn\'t have a resource type "{word}"{_hint(name, known)}')

    async def several(self, words: str) -> list[ApiResource]:
        """The kinds of `deploy,svc`, of a category, or of `all`."""
        found: list[ApiResource] = []
        for word in words.split(","):
            if not word:
                raise CommandError("arguments in resource/name form must have a single resource and name")
            found += await self._category(word) or [await self.find(word)]
        return list(dict.fromkeys(found))

    async def wanted(self, arguments: Sequence[str]) -> list[Wanted]:
        """What `TYPE[,TYPE] [NAME...]` or `TYPE/NAME...` means."""
        if not arguments:
            raise CommandError(NOTHING_NAMED)
        if "/" in arguments[0]:
            return [await self._slashed(word) for word in arguments]
        kinds = await self.several(arguments[0])
        names = arguments[1:]
        if not all(names):
            raise CommandError("resource name may not be empty")
        if any("/" in name for name in names):
            raise CommandError(
                "there is no need to specify a resource type as a separate argument when passing "
                "arguments in resource/name form (e.g. 'get resource/<resource_name>' instead of "
                "'get resource resource/<resource_name>'"
            )
        return [Wanted(kind, name) for kind in kinds for name in names] or [Wanted(kind) for kind in kinds]

    async def _slashed(self, word: str) -> Wanted:
        kind, slash, name = word.partition("/")
        if not (kind and slash and name) or "/" in name:
            raise CommandError("arguments in resource/name form must have a single resource and name")
        return Wanted(await self.find(kind), name)

    async def _category(self, word: str) -> list[ApiResource]:
        known = await self.all()
        seen: dict[tuple[str, str], ApiResource] = {}
        for kind in known:
            if word in kind.categories and "list" in kind.verbs:
                seen.setdefault((kind.type.group, kind.type.resource), kind)
        return list(seen.values())


def _hint(name: str, known: Sequence[ApiResource]) -> str:
    from difflib import get_close_matches

    words = {word for kind in known for word in (kind.type.resource, kind.singular) if word}
    close = get_close_matches(name, sorted(words), 1, 0.75)
    return f' (did you mean "{close[0]}"?)' if close else ""
