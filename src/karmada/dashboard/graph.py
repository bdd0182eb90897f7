"""The way of one workload as a graph: template, policy, binding, clusters, overrides, Works, copies, pods. No I/O."""

from typing import Any

from karmada.api import names
from karmada.api.conditions import APPLIED
from karmada.api.counting import counted
from karmada.api.decision import Attempt
from karmada.api.meta import find_condition, is_true
from karmada.dashboard.rows import CLUSTER_VERSION, POLICY_VERSION, JSONObject, Ref, ref, ref_of
from karmada.explain.why.facts import Binding, Facts, MemberFacts
from karmada.explain.why.links import Link
from karmada.explain.why.scheduling import one_remedy
from karmada.explain.why.verdicts import reason

PODS = 20
"""Pods of one cluster that get a node each; more share one."""
UNCHOSEN = 12
"""Clusters that were not chosen and get a node each."""
WORK_VERSION, BINDING_VERSION = "work.karmada.io/v1alpha1", "work.karmada.io/v1alpha2"


class Graph:
    """Nodes and edges under construction."""

    def __init__(self) -> None:
        self.nodes: list[JSONObject] = []
        self.edges: list[JSONObject] = []

    def node(self, id_: str, type_: str, label: str, state: str, sentence: str, **more: Any) -> str:
        """Add a node; its id."""
        extra = {key: value for key, value in more.items() if value}
        self.nodes.append({"id": id_, "type": type_, "label": label, "state": state, "sentence": sentence, **extra})
        return id_

    def edge(self, start: str, end: str, state: str, label: str = "") -> None:
        """Add an edge."""
        self.edges.append({"from": start, "to": end, "state": state, **({"label": label} if label else {})})

    def data(self) -> JSONObject:
        """For the page."""
        return {"nodes": self.nodes, "edges": self.edges}


def graph(facts: Facts, links: list[Link], verdicts: list[JSONObject], overrides: list[JSONObject]) -> JSONObject:
    """The whole way of a template that is there."""
    made = Graph()
    template = facts.template
    assert template is not None
    by_name = {link.name: link for link in links}
    replicas = (template.get("spec") or {}).get("replicas")
    label = f"{facts.kind.kind} {facts.name}"
    wanted = f"{counted(replicas, 'replica')} wanted" if replicas is not None else "the object in the control plane"
    text = by_name["template"].text if by_name["template"].broken else wanted
    top = made.node("template", "template", label, _state(by_name["template"]), text, ref=ref_of(template))
    policy = by_name.get("policy")
    if policy is None:
        return made.data()
    matched = _policy_ref(str(policy.data.get("matched") or ""))
    name = matched["name"] if matched else "no policy"
    holder = made.node("policy", "policy", name, _state(policy), policy.text, ref=matched)
    made.edge(top, holder, _state(policy), "selected by")
    if facts.binding is None:
        if "binding" in by_name:
            lost = made.node("binding", "binding", "no binding", "bad", by_name["binding"].text)
            made.edge(holder, lost, "bad")
        return made.data()
    _binding(made, facts, facts.binding, by_name, holder, verdicts, overrides)
    return made.data()


def verdicts(facts: Facts, binding: Binding, attempt: Attempt | None) -> list[JSONObject]:
    """Every cluster's verdict: chosen first, then by name."""
    shares = {target.name: target.replicas for target in binding.spec.clusters}
    found: list[JSONObject] = []
    for cluster in facts.clusters:
        name = cluster.metadata.name
        rejections = attempt.rejections.get(name, ()) if attempt is not None else ()
        chosen = name in shares
        reasons = [
            {
                "sentence": reason(one, attempt, binding, cluster),
                "remedy": one_remedy(attempt, binding, [one], cluster),
            }
            for one in rejections
            if attempt is not None and not chosen
        ]
        if not chosen and not reasons:
            remedy = "Change the weights or spread constraints of the placement, or add replicas."
            reasons = [{"sentence": f"{name} fits, but others were preferred", "remedy": remedy}]
        scores = attempt.scores.get(name) if attempt is not None else None
        score = sum(scores.values()) if scores is not None else None
        found.append(
            {
                "cluster": name,
                "chosen": chosen,
                "replicas": shares.get(name),
                "score": score,
                "reasons": reasons,
            }
        )
    return sorted(found, key=lambda one: (not one["chosen"], one["cluster"]))


def _binding(
    made: Graph,
    facts: Facts,
    binding: Binding,
    by_name: dict[str, Link],
    holder: str,
    verdicts_: list[JSONObject],
    overrides: list[JSONObject],
) -> None:
    scheduling = by_name.get("scheduling")
    state = _state(scheduling) if scheduling is not None else "ok"
    text = scheduling.text if scheduling is not None else ""
    about = binding.metadata
    own = ref(BINDING_VERSION, binding.kind, about.namespace, about.name)
    node = made.node("binding", "binding", about.name, state, text, ref=own)
    made.edge(holder, node, "ok", "makes")
    for number, verdict in enumerate(one for one in verdicts_ if not one["chosen"]):
        name = verdict["cluster"]
        if number == UNCHOSEN:
            left = sum(1 for one in verdicts_ if not one["chosen"]) - UNCHOSEN
            rest = made.node("clusters", "cluster", f"{left} more", "off", "not chosen either: see the verdicts")
            made.edge(node, rest, "off")
            break
        sentence = "; ".join(one["sentence"] for one in verdict["reasons"])
        off = made.node(f"cluster/{name}", "cluster", name, "off", sentence, ref=_cluster_ref(name), cluster=name)
        made.edge(node, off, "off", "not chosen")
    for target in sorted(binding.spec.clusters, key=lambda one: str(one.name)):
        _target(made, facts, target.name, target.replicas, by_name, node, overrides)


def _target(
    made: Graph,
    facts: Facts,
    cluster: str,
    replicas: int,
    by_name: dict[str, Link],
    above: str,
    overrides: list[JSONObject],
) -> None:
    known = next((one for one in facts.clusters if one.metadata.name == cluster), None)
    ready = known is not None and is_true(known.status.conditions, "Ready")
    share = counted(replicas, "replica") if replicas else "the whole object"
    sentence = share if ready else f"{share}; the cluster is not ready" if known else f"{share}; the cluster is gone"
    node = made.node(
        f"cluster/{cluster}",
        "cluster",
        cluster,
        "ok" if ready else "bad",
        sentence,
        ref=_cluster_ref(cluster),
        cluster=cluster,
    )
    made.edge(above, node, "ok", str(replicas) if replicas else "")
    for number, one in enumerate(one for one in overrides if one["cluster"] == cluster):
        policy = one["policy"]
        id_ = made.node(
            f"override/{cluster}/{number}",
            "override",
            policy["name"],
            "ok",
            f"{policy['kind']} changes the copy for {cluster}",
            ref=policy,
            cluster=cluster,
        )
        made.edge(node, id_, "ok", "changed by")
        node = id_
    _work(made, facts, cluster, by_name, node)


def _work(made: Graph, facts: Facts, cluster: str, by_name: dict[str, Link], above: str) -> None:
    work = facts.works.get(cluster)
    if work is None:
        missing = by_name.get(f"work {cluster}")
        sentence = missing.text if missing is not None else "it does not exist yet"
        lost = made.node(f"work/{cluster}", "work", "no Work", "wait", sentence, cluster=cluster)
        made.edge(above, lost, "wait")
        return
    applied = find_condition(work.status.conditions, APPLIED)
    state = "wait" if applied is None else "ok" if applied.status == "True" else "bad"
    sentence = (
        "not delivered yet" if applied is None else "applied" if state == "ok" else applied.message or "not applied"
    )
    own = ref(WORK_VERSION, "Work", names.execution_space(cluster), work.metadata.name)
    node = made.node(f"work/{cluster}", "work", work.metadata.name, state, sentence, ref=own, cluster=cluster)
    made.edge(above, node, state)
    member = facts.members.get(cluster)
    if member is None:
        return
    _copy(made, facts, cluster, member, by_name, node)


def _copy(made: Graph, facts: Facts, cluster: str, member: MemberFacts, by_name: dict[str, Link], above: str) -> None:
    link = by_name.get(f"member {cluster}")
    own = ref(facts.kind.api_version, facts.kind.kind, facts.namespace, facts.name)
    if member.object is None:
        sentence = link.text if link is not None else member.error or "it is not there"
        lost = made.node(f"object/{cluster}", "object", facts.name, "bad", sentence, ref=own, cluster=cluster)
        made.edge(above, lost, "bad")
        return
    sentence = link.text if link is not None else "it is there"
    state = _state(link) if link is not None else "wait"
    node = made.node(f"object/{cluster}", "object", facts.name, state, sentence, ref=own, cluster=cluster)
    made.edge(above, node, state)
    for number, pod in enumerate(member.pods):
        if number == PODS:
            left = len(member.pods) - PODS
            rest = made.node(f"pods/{cluster}", "pod", f"{left} more pods", "off", "not shown", cluster=cluster)
            made.edge(node, rest, "off")
            break
        mood, words = _pod(pod)
        id_ = made.node(
            f"pod/{cluster}/{pod['metadata']['name']}",
            "pod",
            pod["metadata"]["name"],
            mood,
            words,
            ref=ref("v1", "Pod", pod["metadata"].get("namespace") or "", pod["metadata"]["name"]),
            cluster=cluster,
        )
        made.edge(node, id_, mood)


def _pod(pod: JSONObject) -> tuple[str, str]:
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or ()
    reasons = [((one.get("state") or {}).get("waiting") or {}).get("reason") for one in containers]
    text = next((one for one in reasons if one), status.get("phase", "Unknown"))
    if text == "Succeeded" or (containers and all(one.get("ready") for one in containers)):
        return "ok", text
    return ("wait" if text in ("Pending", "ContainerCreating", "Running") else "bad"), text


def _state(link: Link | None) -> str:
    return "bad" if link is not None and link.broken else "ok"


def _cluster_ref(name: str) -> Ref:
    return ref(CLUSTER_VERSION, "Cluster", "", name)


def _policy_ref(spelled: str) -> Ref | None:
    """The policy of `PropagationPolicy ns/name`."""
    kind, _, key = spelled.partition(" ")
    if not key:
        return None
    namespace, _, name = key.rpartition("/")
    return ref(POLICY_VERSION, kind, namespace, name)
