"""A workload of the installer as a Karmada object wants it: replicas, image, flags, resources, nodes. Pure."""

from collections.abc import Mapping, Sequence

from karmada.api.codec import to_tree, tree
from karmada.api.labels import APP_INSTANCE, APP_NAME
from karmada.api.operator.v1alpha1 import KarmadaAPIServer, LocalEtcd
from karmada.machinery.transport import JSONObject
from karmada.operator.settings import CRITICAL, Part

MOUNTED = "operator.karmada.io/mounted"
"""Annotation of pods: what the Secrets they mount hold, so that renewed certificates roll them."""


def dressed(workload: JSONObject, part: Part, image: str) -> None:
    """Change a workload to what is said about its part; `image` is the default one."""
    settings = part.settings
    workload["spec"]["replicas"] = part.replicas
    template = workload["spec"]["template"]
    pod, container = template["spec"], template["spec"]["containers"][0]
    # What distinguishes an instance's pods from others stays.
    own = {key: value for key, value in settings.labels.items() if key not in (APP_NAME, APP_INSTANCE)}
    for about in (workload["metadata"], template["metadata"]):
        about["labels"] = {**about.get("labels", {}), **own}
        about["annotations"] = {**about.get("annotations", {}), **settings.annotations}
    container["image"] = image_of(image, settings.image_repository, settings.image_tag)
    if settings.image_pull_policy:
        container["imagePullPolicy"] = settings.image_pull_policy
    if settings.resources.limits or settings.resources.requests:
        container["resources"] = to_tree(settings.resources)
    pod["priorityClassName"] = settings.priority_class_name or CRITICAL
    if settings.tolerations:
        pod["tolerations"] = [to_tree(one) for one in settings.tolerations]
    if affinity := tree(settings.affinity):
        pod["affinity"] = affinity
    container["command"] = with_flags(container["command"], part)
    if isinstance(settings, KarmadaAPIServer):
        pod["volumes"] += [tree(one) for one in settings.extra_volumes]
        container["volumeMounts"] += [tree(one) for one in settings.extra_volume_mounts]
        pod["containers"] += [tree(one) for one in settings.sidecar_containers]
    if isinstance(settings, LocalEtcd) and settings.volume_data is not None:
        _set_volume(workload, settings)


def image_of(default: str, repository: str, tag: str) -> str:
    """An image of which a repository or a tag may be said; a tag that is a digest pins it."""
    known, pinned, version = default.partition("@")
    if not pinned:
        known, _, version = default.rpartition(":")
    version = tag or version
    return f"{repository or known}{'@' if version.startswith('sha256:') else ':'}{version}"


def with_flags(command: Sequence[str], part: Part) -> list[str]:
    """A command line with flags replaced in their places, or added at its end."""
    flags = dict(part.flags)
    if part.gates:
        flags.setdefault(
            "feature-gates", ",".join(f"{name}={str(on).lower()}" for name, on in sorted(part.gates.items()))
        )
    left = dict(flags)
    made = []
    for word in command:
        name = word.removeprefix("--").partition("=")[0]
        if word.startswith("--") and name in flags:
            left.pop(name, None)
            word = f"--{name}={flags[name]}"
        made.append(word)
    return [*made, *(f"--{name}={value}" for name, value in sorted(left.items()))]


def budget(workload: JSONObject, part: Part) -> list[JSONObject]:
    """The disruption budget of a workload, if one is wanted."""
    config = part.settings.pod_disruption_budget_config
    if config is None:
        return []
    about, selector = workload["metadata"], workload["spec"]["selector"]
    metadata = {"name": about["name"], "namespace": about["namespace"], "labels": dict(about["labels"])}
    spec = {**to_tree(config), "selector": selector}
    return [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}]


def stamped(workload: JSONObject, digests: Mapping[str, str]) -> None:
    """Note in a workload's pods what their Secrets hold."""
    template = workload["spec"]["template"]
    mounted = [volume["secret"]["secretName"] for volume in template["spec"]["volumes"] if "secret" in volume]
    known = ",".join(f"{name}={digests[name]}" for name in sorted(mounted) if name in digests)
    template["metadata"].setdefault("annotations", {})[MOUNTED] = known


def _set_volume(workload: JSONObject, settings: LocalEtcd) -> None:
    data = settings.volume_data
    assert data is not None
    pod, spec = workload["spec"]["template"]["spec"], workload["spec"]
    if claim := tree(data.volume_claim):
        spec["volumeClaimTemplates"][0]["spec"] = claim["spec"]
        return
    source = {"hostPath": found} if (found := tree(data.host_path)) else {"emptyDir": tree(data.empty_dir) or {}}
    del spec["volumeClaimTemplates"]
    pod["volumes"].append({"name": "data", **source})
