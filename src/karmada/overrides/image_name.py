"""Image names taken apart and put together: `registry/repository:tag` or `registry/repository@digest`."""

import re
from dataclasses import dataclass, replace

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"

_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PATH_PART}(?:/{_PATH_PART})*)(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?"
)
_TAG_ALONE = re.compile(_TAG)
_DIGEST_ALONE = re.compile(_DIGEST)
_CHECKSUM_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}
_MAX_NAME = 255


class ImageNameError(ValueError):
    """The text is no image name; the message is the reason."""


@dataclass(frozen=True, slots=True)
class ImageName:
    """The parts of an image name; empty ones are absent. `tag` and `digest` exclude each other."""

    registry: str = ""
    repository: str = ""
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        name = f"{self.registry}/{self.repository}" if self.registry else self.repository
        if self.tag:
            return f"{name}:{self.tag}"
        return f"{name}@{self.digest}" if self.digest else name

    @property
    def version(self) -> str:
        """The tag, or else the digest."""
        return self.tag or self.digest

    def with_version(self, version: str) -> "ImageName":
        """The name with another tag or digest; a text that is neither changes nothing."""
        if _TAG_ALONE.fullmatch(version):
            return replace(self, tag=version, digest="")
        if _DIGEST_ALONE.fullmatch(version):
            return replace(self, tag="", digest=version)
        return self


def parse_image(text: str) -> ImageName:
    """Take an image name apart; the first path part is a registry when it looks like a host.

    Of a tag and a digest the tag is kept.
    """
    found = _REFERENCE.fullmatch(text)
    if found is None:
        if not text:
            raise ImageNameError("repository name must have at least one component")
        if _REFERENCE.fullmatch(text.lower()):
            raise ImageNameError("repository name must be lowercase")
        raise ImageNameError("invalid reference format")
    name = found["name"]
    if len(name) > _MAX_NAME:
        raise ImageNameError(f"repository name must not be more than {_MAX_NAME} characters")
    if found["digest"]:
        _check_digest(found["digest"])
    registry, slash, repository = name.partition("/")
    if not slash or not _is_host(registry):
        registry, repository = "", name
    tag = found["tag"] or ""
    return ImageName(registry, repository, tag, "" if tag else found["digest"] or "")


def _check_digest(digest: str) -> None:
    algorithm, _, checksum = digest.partition(":")
    if algorithm not in _CHECKSUM_DIGITS:
        raise ImageNameError("unsupported digest algorithm")
    if len(checksum) != _CHECKSUM_DIGITS[algorithm]:
        raise ImageNameError("invalid checksum digest length")
    if checksum != checksum.lower():
        raise ImageNameError("invalid checksum digest format")


def _is_host(part: str) -> bool:
    return "." in part or ":" in part or part == "localhost"
