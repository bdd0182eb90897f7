"""Where a webhook is: a URL or a service."""

import re
from urllib.parse import urlsplit

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, invalid, quoted, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject
from karmada.apiserver.schema.metadata import in_characters

_FORM = "desired format: https://host[/path]"
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
_PORT = re.compile("[0-9]*")
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*")


def client_config(config: JSONObject, path: str) -> Errors:
    """What is wrong with where a webhook is said to be."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    return _url(url, f"{path}.url") if url is not None else _service(service or {}, f"{path}.service")


def _url(url: str, field: str) -> Errors:
    if problem := _malformed(url):
        return [required(field, f"url must be a valid URL: parse {quoted(url)}: {problem}; {_FORM}")]
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    errors: Errors = []
    if parts.scheme != "https":
        errors.append(invalid(field, parts.scheme, f"'https' is the only allowed URL scheme; {_FORM}"))
    if not host:
        errors.append(invalid(field, host, f"host must be specified; {_FORM}"))
    if at:
        # The reference quotes the password as well.
        shown = user.partition(":")[0] + (":xxxxx" if ":" in user else "")
        errors.append(invalid(field, shown, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(field, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(field, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _malformed(url: str) -> str:
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
    return _no_host(host)


def _no_host(host: str) -> str:
    if host.startswith("["):
        if "]" not in host:
            return "missing ']' in host"
        host = host.rpartition("]")[2]
    name, colon, port = host.partition(":")
    if " " in name:
        return 'invalid character " " in host name'
    return f"invalid port {quoted(colon + port)} after host" if port and not _PORT.fullmatch(port) else ""


def _service(service: JSONObject, field: str) -> Errors:
    # The reference names the one where the other is missing.
    errors: Errors = [] if service.get("namespace") else [required(f"{field}.name")]
    errors += [] if service.get("name") else [required(f"{field}.namespace")]
    port = service["port"]
    if not 1 <= port <= 65535:
        errors.append(invalid(f"{field}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    path = service.get("path")
    return errors + _path(path, f"{field}.path") if path else errors


def _path(path: str, field: str) -> Errors:
    """A path of a service: segments that are DNS names, a slash before each."""
    if path == "/":
        return []
    errors: list[FieldError] = []
    if not path.startswith("/"):
        errors.append(invalid(field, path, "must start with a '/'"))
    if path == "//":
        return [*errors, invalid(field, path, "segment[0] may not be empty")]
    _, *others = path.removesuffix("/").split("/")
    for at, segment in enumerate(others if path.startswith("/") else ["", *others]):
        if not segment:
            errors.append(invalid(field, path, f"segment[{at}] may not be empty"))
            continue
        problems = in_characters(name_rules.dns_subdomain(segment))
        errors += [invalid(field, path, f"segment[{at}]: {problem}") for problem in problems]
    return errors
