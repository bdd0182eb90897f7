"""What a pod refers to: ConfigMaps, Secrets, its ServiceAccount and claims."""

from collections.abc import Iterable, Iterator

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.pods.template import Container, Named, PodSpec, Volume

DEFAULT_SERVICE_ACCOUNT = "default"


def pod_dependencies(
    pod: PodSpec, namespace: str, *, own_claims: Iterable[str] = ()
) -> tuple[DependentObjectReference, ...]:
    """Everything a pod refers to, sorted; claims that the workload makes itself are left out."""
    config_maps, secrets = set(_config_maps(pod)), set(_secrets(pod))
    claims = {volume.persistent_volume_claim.claim_name for volume in pod.volumes if volume.persistent_volume_claim}
    account = {pod.service_account_name} - {DEFAULT_SERVICE_ACCOUNT}
    found = {
        "ConfigMap": config_maps,
        "PersistentVolumeClaim": claims - set(own_claims),
        "Secret": secrets,
        "ServiceAccount": account,
    }
    return tuple(
        DependentObjectReference(api_version="v1", kind=kind, namespace=namespace, name=name)
        for kind, names in found.items()
        for name in sorted(names)
        if name
    )


def _containers(pod: PodSpec) -> Iterator[Container]:
    yield from pod.init_containers
    yield from pod.containers
    yield from pod.ephemeral_containers


def _config_maps(pod: PodSpec) -> Iterator[str]:
    for container in _containers(pod):
        yield from (source.config_map_ref.name for source in container.env_from if source.config_map_ref)
        for variable in container.env:
            if variable.value_from and variable.value_from.config_map_key_ref:
                yield variable.value_from.config_map_key_ref.name
    for volume in pod.volumes:
        if volume.config_map:
            yield volume.config_map.name
        if volume.projected:
            yield from (part.config_map.name for part in volume.projected.sources if part.config_map)


def _secrets(pod: PodSpec) -> Iterator[str]:
    yield from (secret.name for secret in pod.image_pull_secrets)
    for container in _containers(pod):
        yield from (source.secret_ref.name for source in container.env_from if source.secret_ref)
        for variable in container.env:
            if variable.value_from and variable.value_from.secret_key_ref:
                yield variable.value_from.secret_key_ref.name
    for volume in pod.volumes:
        yield from _secrets_of_volume(volume)


def _secrets_of_volume(volume: Volume) -> Iterator[str]:
    if volume.secret:
        yield volume.secret.secret_name
    if volume.projected:
        yield from (part.secret.name for part in volume.projected.sources if part.secret)
    if volume.azure_file:
        yield volume.azure_file.secret_name
    if volume.csi and volume.csi.node_publish_secret_ref:
        yield volume.csi.node_publish_secret_ref.name
    by_reference = (
        volume.cephfs,
        volume.cinder,
        volume.flex_volume,
        volume.iscsi,
        volume.rbd,
        volume.scale_io,
        volume.storageos,
    )
    yield from (_name(source.secret_ref) for source in by_reference if source)


def _name(reference: Named | None) -> str:
    return reference.name if reference else ""
