"""What the URL of a webhook may be, `https://host[/path]` and nothing more, and the path of its service.

The words are those of Kubernetes, except that a password is masked.
"""

import re
from urllib.parse import SplitResult, urlsplit

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, invalid, quoted, required
from karmada.api.urls import masked

_FORM = "desired format: https://host[/path]"
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
_PORT = re.compile("[0-9]*")
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*")


def url_errors(url: str, field: str) -> list[FieldError]:
    """What is wrong with the URL of a webhook that stands in a field."""
    problem = malformed(url)
    if problem:
        return [required(field, f"url must be a valid URL: parse {quoted(masked(url))}: {problem}; {_FORM}")]
    return _unwanted(urlsplit(url), field)


def service_path_errors(path: str, field: str) -> list[FieldError]:
    """What is wrong with the path of a webhook's service: segments that are DNS names, a slash before each."""
    if path in ("", "/"):
        return []
    if path == "//":
        return [invalid(field, path, "segment[0] may not be empty")]
    errors = [] if path.startswith("/") else [invalid(field, path, "must start with a '/'")]
    for at, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(field, path, f"segment[{at}] may not be empty"))
        else:
            errors += [invalid(field, path, f"segment[{at}]: {why}") for why in name_rules.dns_subdomain(segment)]
    return errors


def _unwanted(parts: SplitResult, field: str) -> list[FieldError]:
    user, at, host = masked(f"//{parts.netloc}").removeprefix("//").rpartition("@")
    errors: list[FieldError] = []
    if parts.scheme != "https":
        errors.append(invalid(field, parts.scheme, f"'https' is the only allowed URL scheme; {_FORM}"))
    if not host:
        errors.append(invalid(field, host, f"host must be specified; {_FORM}"))
    if at:
        errors.append(invalid(field, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(field, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(field, parts.query, "query parameters are not permitted in the URL"))
    return errors


def malformed(url: str) -> str:
    """Why a text is no URL; empty when it is one."""
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in url):
        return "net/url: invalid control character in URL"
    if url.startswith(":"):
        return "missing protocol scheme"
    scheme, colon, rest = url.partition(":")
    if colon and "/" not in scheme and not _SCHEME.fullmatch(scheme):
        return "first path segment in URL cannot contain colon"
    escape = _ESCAPE.search(url)
    if escape is not None:
        return f"invalid URL escape {quoted(escape[0])}"
    host = re.split("[/?#]", rest[2:], maxsplit=1)[0].rpartition("@")[2] if rest.startswith("//") else ""
    return _no_host(host) or _unusable(url)


def _no_host(host: str) -> str:
    if host.startswith("["):
        if "]" not in host:
            return "missing ']' in host"
        host = host.rpartition("]")[2]
    name, colon, port = host.partition(":")
    if " " in name:
        return 'invalid character " " in host name'
    return f"invalid port {quoted(colon + port)} after host" if port and not _PORT.fullmatch(port) else ""


def _unusable(url: str) -> str:
    """What Kubernetes accepts although nobody can be reached there, such as a port beyond the last one."""
    try:
        _ = urlsplit(url).port
    except ValueError:
        return "invalid host or port"
    return ""
