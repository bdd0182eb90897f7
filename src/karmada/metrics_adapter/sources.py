"""Values of external metrics from Prometheus servers and plain HTTP pages.

Only numbers come back: neither pages nor addresses of sources are repeated to whoever asks. Redirects are not followed,
answers and results are bounded, and nothing but http and https is asked.
"""

import math
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import msgspec
import orjson

from karmada.api.autoscaling.v1alpha1 import ExternalMetricSpec, HttpSource, PrometheusSource
from karmada.api.quantity import Quantity
from karmada.apiserver.outgoing import Caller, CallFailed, Target
from karmada.machinery.errors import ServerError

LARGEST = 1 << 20
"""Bytes of an answer."""
MOST = 1000
"""Values of one query."""
DEFAULT_TIMEOUT = 5


class Value(NamedTuple):
    """One value of a metric: a quantity, and the labels that the source gives it."""

    quantity: str
    labels: dict[str, str]


class _Element(msgspec.Struct, frozen=True):
    value: tuple[float, str]
    metric: dict[str, str] = {}


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Answer(msgspec.Struct, frozen=True):
    data: _Data


async def read(caller: Caller, spec: ExternalMetricSpec) -> list[Value]:
    """The values that a source has now; raises `ServerError` with a sentence that names the field at fault."""
    if (spec.prometheus is None) == (spec.http is None):
        raise ServerError("exactly one of spec.prometheus and spec.http must be given")
    timeout = float(spec.timeout_seconds or DEFAULT_TIMEOUT)
    try:
        if spec.prometheus is not None:
            return await _prometheus(caller, spec.prometheus, timeout)
        assert spec.http is not None
        return [Value(await _page(caller, spec.http, timeout), {})]
    except (CallFailed, TimeoutError) as error:
        raise ServerError(f"the source did not answer within {timeout:g} s or cannot be reached") from error


async def _prometheus(caller: Caller, source: PrometheusSource, timeout: float) -> list[Value]:
    path = f"api/v1/query?{urlencode({'query': source.query})}"
    body = await _get(caller, f"{source.address.rstrip('/')}/{path}", "spec.prometheus.address", timeout)
    try:
        data = msgspec.json.decode(body, type=_Answer).data
        if data.result_type == "scalar":
            elements = [_Element(msgspec.json.decode(data.result, type=tuple[float, str]))]
        else:
            elements = msgspec.json.decode(data.result, type=list[_Element])
    except msgspec.DecodeError as error:
        raise ServerError("spec.prometheus.query: the answer is neither a vector nor a scalar") from error
    if len(elements) > MOST:
        raise ServerError(f"spec.prometheus.query: the result has more than {MOST} elements; aggregate it")
    return [
        Value(_quantity(one.value[1]), {name: text for name, text in one.metric.items() if name != "__name__"})
        for one in elements
    ]


async def _page(caller: Caller, source: HttpSource, timeout: float) -> str:
    body = await _get(caller, source.url, "spec.http.url", timeout)
    try:
        found = orjson.loads(body)
        for part in source.pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ServerError("spec.http.pointer: the page has no such value") from error
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        raise ServerError("spec.http.pointer: what is there is no number")
    return _quantity(found)


async def _get(caller: Caller, url: str, field: str, timeout: float) -> bytes:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise ServerError(f"{field}: this is no address") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ServerError(f"{field}: an address begins with http:// or https:// and names a host")
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    target = Target(parts.hostname, port, path, tls=parts.scheme == "https")
    answer = await caller.request("GET", target, {"Accept": "application/json"}, b"", timeout)
    if answer.status != 200:
        raise ServerError(f"{field}: the source answered {answer.status}")
    if len(answer.body) > LARGEST:
        raise ServerError(f"{field}: the answer has more than {LARGEST} bytes")
    return answer.body


def _quantity(value: str | float) -> str:
    """A number as a quantity, to thousandths."""
    try:
        number = float(value)
    except ValueError as error:
        raise ServerError("the source's value is no number") from error
    if not math.isfinite(number) or abs(number) > 2**53:
        raise ServerError("the source's value is not finite")
    return str(Quantity.milli(round(number * 1000)))
