"""The link from a template to its policy: which ones choose it, which one wins, and why the others do not."""

from karmada.api import names
from karmada.api.policy.v1alpha1 import PropagationPolicy, ResourceSelector
from karmada.explain.nearest import ALIKE, likeness
from karmada.explain.why.affinity import missed_labels
from karmada.explain.why.facts import Facts, JSONObject
from karmada.explain.why.links import Link, broken
from karmada.policies.claims import Claim, read_claim
from karmada.policies.election import Policy, elect, explicit_priority
from karmada.policies.gated_fields import gated_fields
from karmada.policies.matching import Match, Subject, fit, subject_of

_HOW = {Match.NAME: "by name", Match.LABELS: "by labels", Match.ALL: "with all of its kind"}


def policy_link(facts: Facts, template: JSONObject) -> Link:
    """Who propagates the template."""
    subject = subject_of(template)
    about = template["metadata"]
    claim = read_claim(about.get("labels") or {}, about.get("annotations") or {})
    winner = elect(facts.policies, subject) or elect(facts.cluster_policies, subject)
    holder = next((policy for policy in _all(facts) if claim is not None and _is(policy, claim)), winner)
    losers = _losers(facts, subject, winner, holder)
    if winner is None:
        near = near_misses(_all(facts), subject)
        sentence = f"no policy selects this {subject.kind}"
        where = f" in namespace {facts.namespace}" if facts.namespace else ""
        create = f"create a PropagationPolicy{where} whose resourceSelectors name it (or apply it with --all-clusters)"
        remedy = near[0] if near else create
        if claim is None:
            return broken("policy", sentence, _sentence(remedy), *near, matched=None)
        return broken("policy", f"{sentence} any more, but {claim.name} holds it still", _sentence(remedy), *near)
    if claim is None:
        if winner.spec.activation_preference == "Lazy":
            sentence = f"{spell(winner)} selects it, but is lazy"
            return broken("policy", sentence, "Change the template (a label is enough): lazy policies wait for that.")
        sentence = f"{spell(winner)} selects it, but it has not been taken up yet"
        remedy = "Wait a moment; if it stays, look at the logs of karmada-controller-manager (resource detector)."
        return broken("policy", sentence, remedy, *losers)
    assert holder is not None
    how = _HOW.get(fit(holder, subject), "no longer")
    details = list(losers)
    if holder is not winner:
        details.insert(0, f"{spell(winner)} would win now; it takes over only with preemption: Always")
    sentence = f"{spell(holder)} selects it {how}"
    idle = gated_fields(holder.spec, facts.terms.gates) if facts.terms.known else []
    data = {"matched": spell(holder), "lost": losers}
    return Link("policy", sentence, details=details, data=data, warnings=[f"{spell(holder)}: {text}" for text in idle])


def spell(policy: Policy) -> str:
    """`PropagationPolicy ns/name`."""
    return f"{policy.kind} {names.namespaced_key(policy.metadata.namespace, policy.metadata.name)}"


def _all(facts: Facts) -> list[Policy]:
    return [*facts.policies, *facts.cluster_policies]


def _is(policy: Policy, claim: Claim) -> bool:
    return (policy.metadata.namespace, policy.metadata.name) == (claim.namespace, claim.name)


def _losers(facts: Facts, subject: Subject, winner: Policy | None, holder: Policy | None) -> list[str]:
    found: list[str] = []
    for policy in _all(facts):
        how = fit(policy, subject)
        if winner is None or policy is winner or policy is holder or how is Match.NONE:
            continue
        found.append(f"{spell(policy)} selects it too, but {_why_lost(policy, how, winner, subject)}")
    return found


def _why_lost(policy: Policy, how: Match, winner: Policy, subject: Subject) -> str:
    if policy.metadata.deletion_timestamp is not None:
        return "is being deleted"
    if isinstance(winner, PropagationPolicy) and not isinstance(policy, PropagationPolicy):
        return "policies of the namespace go before cluster-wide ones"
    mine, theirs = explicit_priority(policy), explicit_priority(winner)
    if mine < theirs:
        return f"its priority {mine} is below {theirs}"
    if how < fit(winner, subject):
        return f"selects {_HOW[how]}, which is less specific"
    return "its name comes later in the alphabet"


def near_misses(policies: list[Policy], subject: Subject) -> list[str]:
    """Why policies that look as if they were meant do not select a template, the nearest first.

    Nearest is who differs in the fewest parts, then whose name is most alike.
    """
    found: list[tuple[int, float, str]] = []
    for policy in policies:
        own = policy.metadata.namespace
        ranked = [
            miss
            for selector in policy.spec.resource_selectors
            if (miss := _miss(selector, own or selector.namespace, subject))
        ]
        if ranked:
            parts, unlike, text = min(ranked)
            found.append((parts, unlike, f"{spell(policy)} {text}"))
    return [text for _, _, text in sorted(found)]


def _miss(selector: ResourceSelector, namespace: str, subject: Subject) -> tuple[int, float, str] | None:
    """In how many parts a selector differs, how unlike its name is, and in words; None if it is not meant at all."""
    if selector.kind != subject.kind:
        return None
    alike = likeness(selector.name, subject.name) if selector.name else 0.0
    if selector.name and alike < ALIKE:
        return None
    texts: list[str] = []
    if selector.api_version != subject.api_version:
        text = f"selects {selector.kind} of {selector.api_version}, not of {subject.api_version}: correct apiVersion"
        texts.append(text)
    if namespace and namespace != subject.namespace:
        text = f"selects in namespace {namespace}, not in {subject.namespace}: correct namespace"
        texts.append(text)
    if selector.name and selector.name != subject.name:
        texts.append(f"selects the name {selector.name}, not {subject.name}: correct name")
    labels = selector.label_selector if not selector.name else None
    if labels is not None and (missed := missed_labels(labels, subject.labels)):
        texts.append(f"{missed}: correct labelSelector or the template's labels")
    return (len(texts), 1 - alike, "; and ".join(texts)) if texts else None


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
