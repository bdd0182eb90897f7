"""Where a webhook is: a URL or a service."""

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, invalid, required
from karmada.api.webhook_urls import url_errors
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject
from karmada.apiserver.schema.metadata import in_characters


def client_config(config: JSONObject, path: str) -> Errors:
    """What is wrong with where a webhook is said to be."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    return url_errors(url, f"{path}.url") if url is not None else _service(service or {}, f"{path}.service")


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
