"""Warnings about pod specs: what is allowed, but hardly meant, or does not work any more."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from karmada.api import name_rules
from karmada.api.caching import clean_cache
from karmada.apiserver.builtin.strategies.common import JSONObject, quantity_of
from karmada.apiserver.builtin.strategies.port_warnings import COMPARED, containers_of, port_warnings
from karmada.apiserver.schema.metadata import in_characters

_DEPRECATED_SOURCES = {
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "flocker": "flocker: deprecated in v1.22, non-functional in v1.25+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "quobyte: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_OLD_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_FRACTION = "is invalid, must be an integer"
_NO_MATCH = "a null labelSelector results in matching no pod"
_PREFERRED, _REQUIRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("preferred", "required"))
_NAMED = "metadata.name: this is used in {}, which can result in surprising behavior; a DNS label is recommended: [{}]"

Warn = Callable[[JSONObject, JSONObject | None], list[str]]
"""Warnings about an object, and what it was before an update."""


def of_template(*path: str, named: bool = False, more: Warn | None = None) -> Warn:
    """Warnings of a kind with a pod template at a path; at updates only if the spec changed.

    `named` says that its pods are called after it.
    """
    place = ".".join(path)

    def warn(obj: JSONObject, old: JSONObject | None) -> list[str]:
        if old is not None and obj.get(path[0]) == old.get(path[0]):
            return []
        texts = name_warnings(obj, "Pod names and hostnames") if named and old is None else []
        template = obj
        for step in path:
            template = template.get(step) or {}
        texts += pod_warnings(template.get("spec") or {}, template.get("metadata") or {}, f"{place}.")
        return texts + (more(obj, old) if more is not None else [])

    return warn


def of_pod(pod: JSONObject, old: JSONObject | None) -> list[str]:
    """Warnings about a new pod."""
    if old is not None:
        return []
    return name_warnings(pod, "the Pod's hostname") + pod_warnings(pod["spec"], pod["metadata"], "")


def name_warnings(obj: JSONObject, what: str) -> list[str]:
    """Names of pods become host names, which are shorter than other names."""
    problems = in_characters(name_rules.dns_label(obj["metadata"].get("name") or ""))
    return [_NAMED.format(what, " ".join(problems))] if problems else []


def pod_warnings(spec: JSONObject, metadata: JSONObject, path: str) -> list[str]:
    """Warnings about a pod spec; `path` is what stands before `spec` and `metadata`."""
    annotations, place = metadata.get("annotations") or {}, f"{path}spec"
    texts = _placement(spec, place)
    texts += [
        f"{path}metadata.annotations[{key}]: {text}" for key, text in _OLD_ANNOTATIONS.items() if key in annotations
    ]
    return texts + _spec_warnings(spec, place)


@clean_cache(1024)
def _spec_warnings(spec: JSONObject, place: str) -> list[str]:
    texts = _volumes(spec, place) + _overlaps(spec) + _twice(spec, place)
    texts += fractions(f"{place}.overhead", spec.get("overhead"), ("memory", "ephemeral-storage"))
    for where, container in containers_of(spec, place):
        resources = container.get("resources") or {}
        for name in ("memory", "ephemeral-storage"):
            for word in ("limits", "requests"):
                texts += fractions(f"{where}.resources.{word}", resources.get(word), (name,))
        texts += _hidden(f"{where}.env", container.get("env") or [])
    texts += port_warnings(spec, place)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        texts.append(f"{place}.terminationGracePeriodSeconds: {text}")
    return texts + _affinity_terms(spec, place)


def _placement(spec: JSONObject, path: str) -> list[str]:
    """Labels of nodes that have newer names, and spreading that counts no pod."""
    chosen = spec.get("nodeSelector") or {}
    texts = [f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}" for key in chosen if key in _OLD_LABELS]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    place = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        texts += term_warnings(term, f"{place}.{_REQUIRED}.nodeSelectorTerms[{index}]")
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        texts += term_warnings(term.get("preference") or {}, f"{place}.{_PREFERRED}[{index}].preference")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        place, key = f"{path}.topologySpreadConstraints[{index}]", constraint.get("topologyKey") or ""
        if key in _OLD_LABELS:
            texts.append(f"{place}.topologyKey: {key} is {_OLD_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            texts.append(f"{place}.labelSelector: {_NO_MATCH}")
    return texts


def term_warnings(term: JSONObject, path: str) -> list[str]:
    """Labels of nodes in a term of a node selector that have newer names."""
    keys = [expression.get("key") or "" for expression in term.get("matchExpressions") or ()]
    return [
        f"{path}.matchExpressions[{index}].key: {key} is {_OLD_LABELS[key]}"
        for index, key in enumerate(keys)
        if key in _OLD_LABELS
    ]


def _affinity_terms(spec: JSONObject, path: str) -> list[str]:
    texts = []
    for sort in ("podAffinity", "podAntiAffinity"):
        terms = (spec.get("affinity") or {}).get(sort) or {}
        place = f"{path}.affinity.{sort}"
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                texts.append(f"{place}.{_REQUIRED}[{index}].labelSelector: {_NO_MATCH}")
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                texts.append(f"{place}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_MATCH}")
    return texts


def fractions(path: str, amounts: dict[str, str] | None, names: tuple[str, ...]) -> list[str]:
    """Bytes are counted in whole numbers."""
    found = [(name, (amounts or {}).get(name)) for name in names]
    return [
        f'{path}[{name}]: fractional byte value "{amount}" {_FRACTION}'
        for name, amount in found
        if amount is not None and quantity_of(amount).milli_value() % 1000
    ]


def claim_warnings(spec: JSONObject, path: str) -> list[str]:
    """Warnings about the spec of a PersistentVolumeClaim."""
    resources = spec.get("resources") or {}
    return [
        text
        for word in ("requests", "limits")
        for text in fractions(f"{path}.resources.{word}", resources.get(word), ("storage",))
    ]


def _volumes(spec: JSONObject, path: str) -> list[str]:
    texts = []
    for index, volume in enumerate(spec.get("volumes") or ()):
        place = f"{path}.volumes[{index}]"
        texts += [f"{place}.{text}" for name, text in _DEPRECATED_SOURCES.items() if volume.get(name) is not None]
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        texts += claim_warnings(template.get("spec") or {}, f"{place}.ephemeral.volumeClaimTemplate.spec")
    return texts


class _File(NamedTuple):
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f'"{self.path}" ({self.source})' if self.source else f'"{self.path}"'


def _overlaps(spec: JSONObject) -> list[str]:
    """Files of a volume that would be written over each other."""
    return [text for text in islice(_comparisons(spec), COMPARED) if text]


def _comparisons(spec: JSONObject) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        name = volume.get("name") or ""
        for kind, words in (("configMap", 'ConfigMap "{name}"'), ("secret", 'Secret "{secretName}"')):
            source = volume.get(kind) or {}
            shown = words.format(name=source.get("name") or "", secretName=source.get("secretName") or "")
            yield from _colliding(name, shown, _files(source.get("items"), ""))
        yield from _colliding(name, "DownwardAPI", _files((volume.get("downwardAPI") or {}).get("items"), ""))
        files: list[_File] = []
        for source in (volume.get("projected") or {}).get("sources") or ():
            if not source:
                yield f'volume "{name}" (Projected) has no sources provided'
            files += _projected(source)
        yield from _colliding(name, "Projected", files)


def _files(items: list[JSONObject] | None, source: str) -> list[_File]:
    return [_File((item.get("path") or "").rstrip("/"), source) for item in items or ()]


def _projected(source: JSONObject) -> list[_File]:
    for kind, word in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if (found := source.get(kind)) is not None and found.get("items") is not None:
            return _files(found["items"], f'{word} "{found.get("name") or ""}"')
    if (found := source.get("downwardAPI")) is not None and found.get("items") is not None:
        return _files(found["items"], "DownwardAPI")
    if (found := source.get("serviceAccountToken")) is not None:
        return _files([found], "ServiceAccountToken")
    return []


def _colliding(volume: str, what: str, files: list[_File]) -> Iterator[str]:
    """What there is to say about each pair of files; mostly nothing."""
    for index, file in enumerate(files):
        for other in islice(files, index):
            collide = file.path and other.path and _inside(f"{file.path}/", f"{other.path}/")
            yield f'volume "{volume}" ({what}): overlapping paths: {file} with {other}' if collide else ""


def _inside(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _twice(spec: JSONObject, path: str) -> list[str]:
    texts = []
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        before: set[str] = set()
        for index, item in enumerate(spec.get(field) or ()):
            value = item.get(key) or ""
            if value in before:
                texts.append(f'{path}.{field}[{index}].{key}: duplicate {key} "{value}"')
            before.add(value)
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            texts.append(f'{path}.imagePullSecrets[{index}].name: invalid empty name ""')
    return texts


def _hidden(path: str, variables: list[JSONObject]) -> list[str]:
    """Variables that hide earlier ones of the same name without using them."""
    texts = []
    before: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        if name in before:
            reference = f"$({name})"
            if variable.get("valueFrom") is not None or value == reference or reference not in value:
                text = f'hides previous definition of "{name}", which may be dropped when using apply'
                texts.append(f"{path}[{index}]: {text}")
        before.add(name)
    return texts
