"""Where a webhook is: a URL or a service."""

from typing import Any

from karmada.api.field_errors import FieldError, invalid, required
from karmada.api.webhook_urls import service_path_errors, url_errors

JSONObject = dict[str, Any]
Errors = list[FieldError]


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
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        errors.append(invalid(f"{field}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    path = service.get("path")
    return errors + service_path_errors(path, f"{field}.path") if path else errors
