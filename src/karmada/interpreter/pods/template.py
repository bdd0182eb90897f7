"""Views of a pod template, as far as rules read it."""

from typing import Any

from msgspec import field

from karmada.api.meta import Toleration
from karmada.interpreter.shape import Metadata, View, view
from karmada.interpreter.types import fit

Amounts = dict[str, int | float | str]


class Named(View, frozen=True, kw_only=True):
    """A reference by name; a few kinds of volumes call the name otherwise."""

    name: str = ""
    secret_name: str = ""
    claim_name: str = ""


class Resources(View, frozen=True, kw_only=True):
    """Amounts of a container."""

    requests: Amounts = field(default_factory=dict)
    limits: Amounts = field(default_factory=dict)


class ValueFrom(View, frozen=True, kw_only=True):
    """Where the value of a variable comes from."""

    config_map_key_ref: Named | None = None
    secret_key_ref: Named | None = None


class Variable(View, frozen=True, kw_only=True):
    """An environment variable."""

    value_from: ValueFrom | None = None


class Variables(View, frozen=True, kw_only=True):
    """A source of many environment variables."""

    config_map_ref: Named | None = None
    secret_ref: Named | None = None


class Container(View, frozen=True, kw_only=True):
    """A container of any sort."""

    name: str = ""
    resources: Resources = Resources()
    env: tuple[Variable, ...] = ()
    env_from: tuple[Variables, ...] = ()


class Source(View, frozen=True, kw_only=True):
    """A volume source that needs a secret to be reached."""

    secret_ref: Named | None = None
    node_publish_secret_ref: Named | None = None
    secret_name: str = ""


class Projection(View, frozen=True, kw_only=True):
    """One part of a projected volume."""

    config_map: Named | None = None
    secret: Named | None = None


class Projected(View, frozen=True, kw_only=True):
    """A volume put together from parts."""

    sources: tuple[Projection, ...] = ()


class Volume(View, frozen=True, kw_only=True):
    """A volume, with the sources that refer to other objects."""

    name: str = ""
    config_map: Named | None = None
    secret: Named | None = None
    persistent_volume_claim: Named | None = None
    projected: Projected | None = None
    azure_file: Source | None = None
    cephfs: Source | None = None
    cinder: Source | None = None
    csi: Source | None = None
    flex_volume: Source | None = None
    iscsi: Source | None = None
    rbd: Source | None = None
    scale_io: Source | None = field(default=None, name="scaleIO")
    storageos: Source | None = None


class NodeTest(View, frozen=True, kw_only=True):
    """One test of a node."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeTerm(View, frozen=True, kw_only=True):
    """Tests that must all hold."""

    match_expressions: tuple[NodeTest, ...] = ()
    match_fields: tuple[NodeTest, ...] = ()


class NodeChoice(View, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeTerm, ...] = ()


class NodeAffinity(View, frozen=True, kw_only=True):
    """Which nodes a pod must or would like to run on."""

    required: NodeChoice | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(View, frozen=True, kw_only=True):
    """What attracts a pod."""

    node_affinity: NodeAffinity | None = None


class PodSpec(View, frozen=True, kw_only=True):
    """A pod."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    image_pull_secrets: tuple[Named, ...] = ()
    service_account_name: str = ""
    overhead: Amounts = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    affinity: Affinity | None = None
    priority_class_name: str = ""


def pod_template(tree: Any, *, is_settled: bool = False) -> "PodTemplate":
    """A template out of a resource whose schema nobody has checked: empty parts have no shape there and vanish, unless
    it `is_settled`: what is empty then has lost its empty parts."""
    settled = _settled(tree, (None,) if is_settled else _EMPTY)
    fit(settled, "core.PodTemplateSpec", exact=True)
    return view(settled, PodTemplate)


def _settled(tree: Any, vanishing: tuple[Any, ...]) -> Any:
    match tree:
        case dict():
            return {key: _settled(part, vanishing) for key, part in tree.items() if part not in vanishing}
        case list():
            return [_settled(part, vanishing) for part in tree if part not in vanishing]
        case float() if tree.is_integer():
            return int(tree)
    return tree


_EMPTY: tuple[Any, ...] = (None, {}, [])


class PodTemplate(View, frozen=True, kw_only=True):
    """A pod template, or a pod itself."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
