"""Where we differ from the reference on purpose: one predicate and one reason each.

A predicate looks at the input, and at what the reference said only to see that the input matters.
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from karmada.api.codec import from_tree
from karmada.api.jsonpath import JSONPathError, parse
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.policies.quota import difference, usage
from karmada.testing.golden.case import Case, Excuse
from karmada.testing.golden.shapes import is_misshapen, values_of
from karmada.webhook.amounts import below_zero

_PRINTED = re.compile(r"map\[")
"""How Go prints a structure."""
_EXCEEDED = re.compile(r"exceeded for resource (\S+):")
_LENGTH_OF_TABLE = re.compile(r"#tostring\((\{|obj\.spec\.(list|empty|emptyList|nested|template)\b)")


def _spreads_without_clusters(case: Case) -> bool:
    """A policy that bounds regions, zones or providers and says nothing about clusters."""
    if not case.input["handler"].endswith("propagationpolicy") or not case.input["handler"].startswith("validate"):
        return False
    spec = (case.input.get("object") or {}).get("spec")
    placement = (spec.get("placement") or {}) if isinstance(spec, dict) else {}
    constraints = placement.get("spreadConstraints") if isinstance(placement, dict) else None
    fields = [one.get("spreadByField") for one in constraints or [] if isinstance(one, dict)]
    return any(fields) and "cluster" not in fields


def _preserves_by_unreadable_path(case: Case) -> bool:
    """A policy that keeps state by a JSONPath that does not parse."""
    if not case.input["handler"].endswith("propagationpolicy") or not case.input["handler"].startswith("validate"):
        return False
    judged = (
        one.get("allowed") or str(one.get("message")).lstrip("[").startswith("spec.") for one in case.alternatives
    )
    if not any(judged):
        return False  # Refused before its fields are looked at.
    spec = (case.input.get("object") or {}).get("spec")
    failover = spec.get("failover") if isinstance(spec, dict) else None
    parts = failover.values() if isinstance(failover, dict) else ()
    kept = (part.get("statePreservation") for part in parts if isinstance(part, dict))
    rules = (rule for one in kept if isinstance(one, dict) for rule in one.get("rules") or ())
    return any(_is_unreadable(rule.get("jsonPath")) for rule in rules if isinstance(rule, dict))


def _is_unreadable(path: Any) -> bool:
    try:
        parse(path if isinstance(path, str) else "")
    except JSONPathError:
        return True
    return False


def _has_password(case: Case) -> bool:
    """A webhook whose URL holds a password."""
    webhooks = (case.input.get("object") or {}).get("webhooks") or []
    configs = (webhook.get("clientConfig") for webhook in webhooks if isinstance(webhook, dict))
    urls = (config.get("url") for config in configs if isinstance(config, dict))
    return any(urlsplit(url).password for url in urls if isinstance(url, str))


def _carries_misshapen(case: Case) -> bool:
    """A Work whose manifest is not of its kind, which the reference notices only in Jobs."""
    if case.input["handler"] != "mutate/work" or not any(_fails(one, 500) for one in case.alternatives):
        return False
    return any(
        is_misshapen(manifest) or _is_job_with_null(manifest) for manifest in _manifests(case.input.get("object"))
    )


def _has_nameless_component(case: Case) -> bool:
    """A binding that is refused for the names of its components, where the reference books what it uses first."""
    if case.input["handler"] != "validate/resourcebinding":
        return False
    components = ((case.input.get("object") or {}).get("spec") or {}).get("components") or []
    names = [component.get("name") or "" for component in components if isinstance(component, dict)]
    books = (case.input.get("featureGates") or {}).get("FederatedQuotaEnforcement")
    refused = not any(one.get("allowed") for one in case.alternatives)
    return bool(books) and refused and (len(set(names)) < len(names) or "" in names)


def _has_adjacent_tokens(case: Case) -> bool:
    """A Work with a service account that lists two generated tokens in a row."""
    if case.input["handler"] != "mutate/work":
        return False
    for manifest in _manifests(case.input.get("object")):
        if isinstance(manifest, dict) and manifest.get("kind") == "ServiceAccount":
            prefix = f"{(manifest.get('metadata') or {}).get('name')}-token-"
            named = [str((secret or {}).get("name")).startswith(prefix) for secret in manifest.get("secrets") or ()]
            if any(one and other for one, other in pairwise(named)):
                return True
    return False


def _overrides_misshapen(case: Case) -> bool:
    """A resource that is not of its kind, or not after a rule, which the reference notices when it overrides images."""
    if case.operation != "override.Apply":
        return False
    if not is_misshapen(case.input["object"]) and '"plaintext"' not in json.dumps(case.input):
        return False
    return any("failed to convert" in str(one.get("error")) for one in case.alternatives)


def _prints_arguments(case: Case) -> bool:
    """A container with an argument that is no text, of which the reference makes what Go prints."""
    printed = re.search(r"%!s\(|map\[", json.dumps(case.alternatives)) is not None
    lists = (value for name in ("args", "command") for value in values_of(case.input.get("object"), name))
    return printed and any(not isinstance(entry, str) for items in lists if isinstance(items, list) for entry in items)


def _prunes_misshapen(case: Case) -> bool:
    """A Job that is not of its kind, or has a null among its labels, which the reference notices when it prunes one."""
    if case.operation != "native.Prune" or case.input["object"].get("kind") != "Job":
        return False
    if not any("error" in one for one in case.alternatives):
        return False
    return is_misshapen(case.input["object"]) or _is_job_with_null(case.input["object"])


def _is_job_with_null(manifest: Any) -> bool:
    return isinstance(manifest, dict) and manifest.get("kind") == "Job" and "null" in json.dumps(manifest.get("spec"))


def _wraps_numbers(case: Case) -> bool:
    """A number that 32 bits do not hold, in a part that is only passed on; the reference keeps those that they do."""
    given = case.input.get("desired") if case.operation == "native.Retain" else case.input.get("object")
    if case.operation not in ("native.Retain", "native.AggregateStatus") or not isinstance(given, dict):
        return False
    part = given.get("spec") if case.operation == "native.AggregateStatus" else given.get("status")
    answers = set(_numbers(case.alternatives))
    lost = (number for number in _numbers(part) if not -(2**31) <= number < 2**31 and number not in answers)
    return any((number + 2**31) % 2**32 - 2**31 in answers for number in lost)


def _numbers(tree: Any) -> Iterator[int]:
    if isinstance(tree, dict | list | tuple):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _numbers(value)
    elif isinstance(tree, int):
        yield tree


def _script(case: Case) -> str:
    return "\n".join([case.input.get("script") or "", *(case.input.get("scripts") or ())])


def _joins_long_numbers(case: Case) -> bool:
    script = _script(case)
    return ".." in script and re.search(r"[0-9]{15}|\bbig\b|/", script) is not None


def _spells_tables(case: Case) -> bool:
    if any("error" in one for one in case.alternatives):
        return False
    printed = any(_PRINTED.search(json.dumps(one)) for one in case.alternatives)
    return printed or _LENGTH_OF_TABLE.search(_script(case)) is not None


def _uses_a_table_twice(case: Case) -> bool:
    """A result that has a table in two places, which the reference's encoder takes for one that holds itself."""
    if not any("recursively nested" in str(one.get("error")) for one in case.alternatives):
        return False
    return re.search(r"= (f\()?obj\.spec\.(empty|emptyList|list|nested|template)\b", _script(case)) is not None


def _lacks_its_function(case: Case) -> bool:
    """Of several scripts one has no entry point, and the reference runs that of another one in its place."""
    scripts = case.input.get("scripts") or ()
    defined = ["function GetDependencies" in script for script in scripts]
    return len(scripts) > 1 and not all(defined[1:]) and not any("error" in one for one in case.alternatives)


def _fails(outcome: Any, code: int) -> bool:
    return isinstance(outcome, dict) and outcome.get("code") == code


def _manifests(work: Any) -> Iterator[Any]:
    workload = ((work or {}).get("spec") or {}).get("workload") or {}
    yield from workload.get("manifests") or []


def _speaks_for_others(case: Case) -> bool:
    """A ResourceBinding whose resource is not in its namespace."""
    if case.input["handler"] != "validate/resourcebinding":
        return False
    binding = case.input.get("object") or {}
    resource = (binding.get("spec") or {}).get("resource") or {}
    return bool(resource.get("namespace") != (binding.get("metadata") or {}).get("namespace"))


def _asks_for_no_more(case: Case) -> bool:
    """A binding that asks for no more of a resource of which more is used than the quota allows."""
    if case.input["handler"] != "validate/resourcebinding":
        return False
    said = (_EXCEEDED.search(str(one.get("message"))) for one in case.alternatives)
    exceeded = {found[1] for found in said if found is not None}
    if not exceeded:
        return False
    given = (case.input.get(key) for key in ("object", "oldObject"))
    after, before = (usage(from_tree(tree, ResourceBinding).spec) if tree else {} for tree in given)
    more = difference(after, before)
    return any(name not in more or more[name].sign() <= 0 for name in exceeded)


def _gives_back(case: Case) -> bool:
    """A binding that uses less than before, where the reference says so in the quota before it is stored."""
    if case.input["handler"] != "validate/resourcebinding" or not case.input.get("oldObject"):
        return False
    if not any(one.get("allowed") for one in case.alternatives):
        return False
    after, before = (usage(from_tree(case.input[key], ResourceBinding).spec) for key in ("object", "oldObject"))
    return any(amount.sign() < 0 for amount in difference(after, before).values())


def _asks_below_zero(case: Case) -> bool:
    """A binding that can be read and has negative replicas or amounts, for itself or a component."""
    if case.input["handler"] not in ("validate/resourcebinding", "validate/clusterresourcebinding"):
        return False
    tree = case.input.get("object")
    if not tree or any(_fails(one, 400) for one in case.alternatives):
        return False
    return bool(below_zero(from_tree(tree, ResourceBinding).spec))


WEBHOOK = (
    Excuse("a binding that asks for less than nothing is refused", _asks_below_zero),
    Excuse("a quota that is exceeded refuses only what asks for more of it, as in Kubernetes", _asks_for_no_more),
    Excuse("a quota gets back what a binding no longer uses when that is stored, not reviewed", _gives_back),
    Excuse("a ResourceBinding for a resource outside of its namespace is refused", _speaks_for_others),
    Excuse("spreadByField without a cluster constraint is accepted: no bound on clusters", _spreads_without_clusters),
    Excuse("a path that does not parse is refused before state is lost by it", _preserves_by_unreadable_path),
    Excuse("the reference quotes a password in a URL, here it is masked", _has_password),
    Excuse("a manifest without the shape of its kind is refused by the member, not here", _carries_misshapen),
    Excuse("of two generated tokens in a row the reference leaves the second", _has_adjacent_tokens),
    Excuse("a binding that is refused for its components uses no quota", _has_nameless_component),
)
OVERRIDE = (
    Excuse("a resource without the shape of its kind is refused by the API server", _overrides_misshapen),
    Excuse("an argument that is no text stays what it is", _prints_arguments),
)
NATIVE = (
    Excuse("a Job without the shape of its kind is refused by the API server", _prunes_misshapen),
    Excuse("a number that its field cannot hold is refused by the API server", _wraps_numbers),
)
LUA = (
    Excuse("a number of more than 14 digits that is joined to text is written by the engine", _joins_long_numbers),
    Excuse("what a table looks like as text, and its length, is nobody's business", _spells_tables),
    Excuse("a table may be in two places of a result", _uses_a_table_twice),
    Excuse("a script does not see the functions of the script before it", _lacks_its_function),
)
