"""The chain from template to members: links in order, up to the first that is broken. No I/O.

One cluster does not hide the others: where the links of clusters stand side by side, all of them are shown.
"""

from collections.abc import Callable, Iterator
from typing import Any

from karmada.api import conditions, names
from karmada.api.codec import to_tree
from karmada.api.counting import counted, part_of
from karmada.api.meta import find_condition
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.detector.scope import OWN_GROUPS
from karmada.explain.nearest import did_you_mean
from karmada.explain.why.facts import Binding, Facts, JSONObject, MemberFacts
from karmada.explain.why.links import Link, broken
from karmada.explain.why.matching import policy_link
from karmada.explain.why.moves import waiting
from karmada.explain.why.scheduling import scheduling_link
from karmada.explain.why.workload_problems import remedy_for, workload_problem
from karmada.overrides.apply import apply_overrides, overridden_replicas
from karmada.overrides.errors import OverrideError

_RESERVED = ("kube-", "karmada-")


def chain(facts: Facts, focus: str = "", go_on: Callable[[], None] = lambda: None) -> list[Link]:
    """The links, up to the first that is broken and those beside it. Before every copy `go_on` is asked, which may
    raise: there are as many as clusters, and each takes what override policies change."""
    found: list[Link] = []
    end = ""
    for link in _links(facts, focus, go_on):
        stage = link.name.partition(" ")[0]
        if end and stage != end:
            break
        found.append(link)
        if link.broken:
            end = stage
    return found


def _links(facts: Facts, focus: str, go_on: Callable[[], None]) -> Iterator[Link]:
    template = facts.template
    if template is None:
        where = f" in namespace {facts.namespace}" if facts.namespace else ""
        text = f"there is no {facts.kind.kind} {facts.name}{where}{did_you_mean(facts.name, facts.others)}"
        yield broken("template", text, "Create it in the control plane, or check its name and namespace (-n).")
        return
    yield _template(facts, template)
    if facts.kind.type.group in OWN_GROUPS:
        yield _own(facts.kind.kind, _idle(facts))
        return
    yield policy_link(facts, template)
    binding = facts.binding
    if binding is None:
        name = names.binding_name(facts.kind.kind, facts.name)
        failed = [event for event in facts.events if event.get("type") == "Warning"]
        text = failed[-1].get("message", "") if failed else f"there is no binding {name}"
        remedy = "Correct what the message names." if failed else "Look whether karmada-controller-manager runs."
        yield broken("binding", str(text), remedy)
        return
    yield Link("binding", f"{binding.kind} {binding.metadata.name}", data={"object": binding.metadata.name})
    yield scheduling_link(facts, binding, focus)
    chosen = sorted(target.name for target in binding.spec.clusters)
    if focus:
        chosen = [focus]
    yield _overrides(facts, template, chosen, go_on)
    for cluster in chosen:
        yield _work(facts, cluster, facts.works.get(cluster))
    for cluster in chosen:
        yield _member(facts, cluster, facts.members.get(cluster) or MemberFacts())
    yield _status(facts, template, binding, go_on)


def _idle(facts: Facts) -> str:
    """That nothing acts on objects of the kind, and why; empty if something does."""
    reason = facts.terms.idle.get(f"{facts.kind.type.resource}.{facts.kind.type.group}", "")
    return f"nothing acts on this {facts.kind.kind}: {reason}" if reason else ""


def _own(kind: str, idle: str) -> Link:
    """What happens to an object of Karmada's own kinds."""
    if idle:
        return broken("controller", idle, "Start the control plane with what is missing, or delete the object.")
    return Link("controller", f"{kind} is a kind of the control plane: it acts there and is never propagated")


def _template(facts: Facts, template: JSONObject) -> Link:
    about = template["metadata"]
    if about.get("deletionTimestamp"):
        held = ", ".join(about.get("finalizers") or ()) or "nothing"
        text = f"it is being deleted; waiting for {held}"
        return broken("template", text, "Wait, or remove the finalizers that nobody serves any more.")
    if facts.namespace.startswith(_RESERVED):
        text = f"objects in {facts.namespace} are never propagated"
        return broken("template", text, "Move it to a namespace that does not begin with kube- or karmada-.")
    replicas = (template.get("spec") or {}).get("replicas")
    text = f"{counted(replicas, 'replica')} wanted" if replicas is not None else "it exists"
    idle = _idle(facts)
    return Link("template", f"{text}, generation {about.get('generation', 1)}", warnings=[idle] if idle else [])


def _overrides(facts: Facts, template: JSONObject, clusters: list[str], go_on: Callable[[], None]) -> Link:
    if facts.overrides_left_out:
        return Link("overrides", facts.overrides_left_out)
    details: list[str] = []
    warnings: list[str] = []
    data: dict[str, Any] = {}
    by_name = {cluster.metadata.name: cluster for cluster in facts.clusters}
    for name in clusters:
        if name not in by_name:
            continue
        go_on()
        try:
            copy = _copied(template)
            done = apply_overrides(copy, by_name[name], facts.cluster_overrides, facts.overrides)
        except OverrideError as error:
            policy = _override_policy(facts, error.policy)
            return broken("overrides", f"the copy for {name} cannot be made: {policy}: {error}", f"Correct {policy}.")
        if done.left_out is not None:
            policy = _override_policy(facts, done.left_out.policy)
            warnings.append(f"the copy for {name} has no overrides of its namespace: {policy}: {done.left_out}")
        applied = [*done.by_cluster_policies, *done.by_policies]
        if applied:
            details += [f"{name}: {rule.policy_name} ({_overriders(rule.overriders)})" for rule in applied]
            data[name] = [rule.policy_name for rule in applied]
    policies = {text for names_ in data.values() for text in names_}
    many = f"{len(policies)} override policies take effect" if policies else "none take effect"
    sentence = "1 override policy takes effect" if len(policies) == 1 else many
    return Link("overrides", sentence, details=details, data={"applied": data}, warnings=warnings)


def _override_policy(facts: Facts, name: str) -> str:
    """An override policy with its kind; a name that both kinds have stays without one."""
    if not name:
        return "an override policy"
    own = any(one.metadata.name == name for one in facts.overrides)
    wide = any(one.metadata.name == name for one in facts.cluster_overrides)
    if own and not wide:
        return f"OverridePolicy {names.namespaced_key(facts.namespace, name)}"
    return f"ClusterOverridePolicy {name}" if wide and not own else f"override policy {name}"


def _copied(template: JSONObject) -> JSONObject:
    import orjson

    copy: JSONObject = orjson.loads(orjson.dumps(template))
    return copy


def _overriders(overriders: Any) -> str:
    return ", ".join(name for name, value in to_tree(overriders).items() if value)


def _work(facts: Facts, cluster: str, work: Work | None) -> Link:
    space = names.execution_space(cluster)
    if work is None and facts.binding is not None and (fence := waiting(facts.binding, conditions.REASON_FENCED)):
        remedy = "Bring the cluster that is left back, or set failover.fencing.timeoutSeconds of the policy."
        return broken(f"work {cluster}", fence, remedy)
    if work is None:
        message = _warning(facts.events, cluster)
        text = message or f"there is no Work for it in {space}"
        remedy = "Correct what the message names." if message else "Look whether karmada-controller-manager runs."
        return broken(f"work {cluster}", text, remedy)
    dispatching = find_condition(work.status.conditions, conditions.DISPATCHING)
    if work.spec.suspend_dispatching or (dispatching is not None and dispatching.status == "False"):
        text = f"{work.metadata.name} is not delivered: dispatching is suspended"
        return broken(f"work {cluster}", text, "Set suspension.dispatching of the policy to false.")
    applied = find_condition(work.status.conditions, conditions.APPLIED)
    ready = _cluster_ready(facts, cluster)
    if applied is None:
        text = f"{work.metadata.name} has not been delivered yet"
        remedy = ready or "Wait a moment; in Pull mode, look whether karmada-agent runs in the cluster."
        return broken(f"work {cluster}", text, remedy)
    if applied.status != "True":
        return broken(
            f"work {cluster}", applied.message or "it could not be applied", ready or _apply_remedy(applied.message)
        )
    return Link(f"work {cluster}", f"{work.metadata.name} is applied", data={"object": work.metadata.name})


def _apply_remedy(message: str) -> str:
    text = message.lower()
    if "already exist" in text or "not managed" in text or "conflict" in text:
        return "Let the policy take it over (conflictResolution: Overwrite), or remove it from the member."
    if "forbidden" in text or "denied" in text:
        return "Let the member's admission or access rules allow it."
    if "no matches for kind" in text or "could not find the requested resource" in text or "no kind" in text:
        return "Install the kind in the member first (its CRD), for example by propagating the CRD too."
    if "namespace" in text and "not found" in text:
        return "Let the namespace exist in the member: it is propagated from the control plane unless it is skipped."
    return "Correct what the member refuses, in the template or in an override policy for this cluster."


def _cluster_ready(facts: Facts, cluster: str) -> str:
    """What to do about a cluster that is not ready; empty if it is."""
    found = next((one for one in facts.clusters if one.metadata.name == cluster), None)
    if found is None:
        return f"Cluster {cluster} is gone: wait until the workload is moved."
    ready = find_condition(found.status.conditions, conditions.READY)
    if ready is not None and ready.status == "True":
        return ""
    why = f" ({ready.message})" if ready is not None and ready.message else ""
    return f"Bring {cluster} back: it is not ready{why}."


def _warning(events: list[JSONObject], cluster: str) -> str:
    found = [event for event in events if event.get("type") == "Warning" and cluster in str(event.get("message"))]
    return str(found[-1].get("message", "")) if found else ""


def _member(facts: Facts, cluster: str, member: MemberFacts) -> Link:
    name = f"member {cluster}"
    if member.error:
        remedy = _cluster_ready(facts, cluster) or "Check the connection to the cluster (karmadactl check)."
        return broken(name, f"it cannot be asked: {member.error}", remedy)
    if member.object is None:
        text = f"the {facts.kind.kind} is not there, although its Work was applied"
        return broken(name, text, "Wait: it is put back; if it stays away, somebody in the member deletes it.")
    if _reported(facts, cluster) == "Unhealthy":
        found = workload_problem(member)
        return broken(name, found.reason, remedy_for(found, cluster, facts.namespace), *found.details)
    status = member.object.get("status") or {}
    wanted = (member.object.get("spec") or {}).get("replicas")
    ready = status.get("readyReplicas", 0)
    text = f"{part_of(ready, wanted, 'replica')} ready" if wanted is not None else "it is there"
    if wanted is not None and ready < wanted:
        found = workload_problem(member)
        return broken(name, f"{text}: {found.reason}", remedy_for(found, cluster, facts.namespace), *found.details)
    return Link(name, text)


def _reported(facts: Facts, cluster: str) -> str:
    items = facts.binding.status.aggregated_status if facts.binding else ()
    return next((item.health for item in items if item.cluster_name == cluster), "")


def _status(facts: Facts, template: JSONObject, binding: Binding, go_on: Callable[[], None]) -> Link:
    spec, status = template.get("spec") or {}, template.get("status") or {}
    wanted, ready = spec.get("replicas"), status.get("readyReplicas", 0)
    if wanted is None:
        return Link("status", "everything arrived")
    if facts.overrides_left_out:
        text = f"{counted(ready, 'replica')} ready; override policies that were not looked at may want more or fewer"
        return Link("status", text)
    changed = _overridden(facts, template, binding, go_on)
    if changed:
        wanted = sum(changed.get(target.name, target.replicas) for target in binding.spec.clusters)
    details = [f"override policies let {name} run {count}" for name, count in sorted(changed.items())]
    if ready < wanted:
        text = f"{part_of(ready, wanted, 'replica')} reported ready"
        return broken("status", text, "Wait a moment: the members' status is on its way.", *details)
    return Link("status", f"{part_of(ready, wanted, 'replica')} ready", details=details)


def _overridden(facts: Facts, template: JSONObject, binding: Binding, go_on: Callable[[], None]) -> dict[str, int]:
    """The replicas of clusters for which override policies set another number than the scheduler."""
    shares = {target.name: target.replicas for target in binding.spec.clusters}
    found: dict[str, int] = {}
    for cluster in facts.clusters:
        name = cluster.metadata.name
        if name not in shares:
            continue
        go_on()
        copy = _copied(template)
        count = overridden_replicas(template, cluster, facts.cluster_overrides, facts.overrides)
        copy["spec"]["replicas"] = shares[name] if count is None else count
        made = apply_overrides(copy, cluster, facts.cluster_overrides, facts.overrides).resource
        count = (made.get("spec") or {}).get("replicas")
        if isinstance(count, int) and count != shares[name]:
            found[name] = count
    return found
