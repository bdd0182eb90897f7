"""What the scale subresource of a workload says, read from the workload itself where its kind is well known."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
import orjson

from karmada.api import label_selector

S = TypeVar("S", bound=str | dict[str, Any])


class WorkloadScale(NamedTuple):
    """Replicas that are asked for, replicas there are, and the selector of their pods in its string form."""

    replicas: int = 0
    status_replicas: int = 0
    selector: str = ""


class _Spec(msgspec.Struct, frozen=True, gc=False):
    replicas: int | None = None
    selector: dict[str, Any] | None = None


class _Status(msgspec.Struct, frozen=True, gc=False):
    replicas: int | None = None
    selector: str | None = None


class _Object(msgspec.Struct, frozen=True, gc=False):
    spec: _Spec | None = None
    status: _Status | None = None


class _TemplateSpec(msgspec.Struct, frozen=True, gc=False):
    selector: str | dict[str, Any] | None = None


class _Template(msgspec.Struct, frozen=True, gc=False):
    spec: _TemplateSpec = _TemplateSpec()


_decode = msgspec.json.Decoder(_Object).decode
_decode_template = msgspec.json.Decoder(_Template).decode
_KNOWN = frozenset({("apps", "deployments"), ("apps", "replicasets"), ("apps", "statefulsets")})
LONGEST_SELECTOR = 16 * 1024
"""Bytes of a pod selector, which members send as well: reading two megabytes of one takes five seconds."""
_DEFAULT = 1
"""Replicas of a workload that names none."""


def is_known(group: str, resource: str) -> bool:
    """Whether the scale of a kind follows from its objects."""
    return (group, resource) in _KNOWN


def scale_of_workload(body: bytes) -> WorkloadScale:
    """The scale of an encoded workload of a known kind; raises `ValueError` for what is none."""
    workload = _decode(body)
    spec, status = workload.spec or _Spec(), workload.status or _Status()
    selector = str(label_selector.from_json(_bounded(spec.selector))) if spec.selector else ""
    return WorkloadScale(_DEFAULT if spec.replicas is None else spec.replicas, status.replicas or 0, selector)


def scale_of_answer(body: bytes) -> WorkloadScale:
    """The scale in the answer of a scale subresource; raises `ValueError` for what is none."""
    scale = _decode(body)
    spec, status = scale.spec or _Spec(), scale.status or _Status()
    return WorkloadScale(spec.replicas or 0, status.replicas or 0, _bounded(status.selector or ""))


def selector_of_template(body: bytes) -> str:
    """The pod selector in the spec of an encoded template of any kind; empty where there is none to be read. The one in
    a status, where the scale of a custom resource has its own from, is what members reported."""
    try:
        selector = _bounded(_decode_template(body).spec.selector or "")
        if isinstance(selector, str):
            return str(label_selector.parse(selector))
        if selector.keys() <= {"matchLabels", "matchExpressions"}:
            return str(label_selector.from_json(selector))
        return str(label_selector.from_json({"matchLabels": selector})) if None not in selector.values() else ""
    except ValueError:
        return ""


def _bounded(selector: S) -> S:
    """A selector, in either of its forms; raises `ValueError` for one that is too long to be read."""
    if len(orjson.dumps(selector)) > LONGEST_SELECTOR:
        raise ValueError(f"the selector has more than {LONGEST_SELECTOR} bytes")
    return selector


class SelectorIndex:
    """The pod selectors of autoscalers, found by the labels of a pod without trying all of them."""

    def __init__(self) -> None:
        self._selectors: dict[tuple[str, str], label_selector.Selector] = {}
        self._by_label: dict[tuple[str, str, str], dict[tuple[str, str], None]] = {}

    def put(self, namespace: str, name: str, selector: label_selector.Selector) -> None:
        """Note the selector of an autoscaler."""
        key = (namespace, name)
        if self._selectors.get(key) == selector:
            return
        self.drop(namespace, name)
        self._selectors[key] = selector
        self._by_label.setdefault(_bucket(namespace, selector), {})[key] = None

    def drop(self, namespace: str, name: str) -> None:
        """Forget an autoscaler."""
        selector = self._selectors.pop((namespace, name), None)
        if selector is not None:
            bucket = _bucket(namespace, selector)
            self._by_label[bucket].pop((namespace, name))
            if not self._by_label[bucket]:
                del self._by_label[bucket]

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        """The names of the autoscalers that select a pod."""
        buckets = (self._by_label.get((namespace, *label), ()) for label in (*labels.items(), _ANY))
        return [key[1] for bucket in buckets for key in bucket if self._selectors[key].matches(labels)]


_ANY = ("", "")


def _bucket(namespace: str, selector: label_selector.Selector) -> tuple[str, str, str]:
    """One label that every selected pod has, if there is one."""
    return namespace, *(selector.required_label() or _ANY)
