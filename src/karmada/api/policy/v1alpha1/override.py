"""OverridePolicy and ClusterOverridePolicy: how copies of a resource differ from cluster to cluster."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import field

from karmada.api.base import ABSENT, Int32, OpenValue, ResourceList, Schema, Struct, always
from karmada.api.meta import ObjectMeta
from karmada.api.policy.v1alpha1.placement import ClusterAffinity
from karmada.api.policy.v1alpha1.propagation import ResourceSelector


class OverriderOperator(StrEnum):
    """What an overrider does with a value."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class MapOverriderOperator(StrEnum):
    """What a label or annotation overrider does. `addIfAbsent` adds keys the object lacks and never changes one."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"
    ADD_IF_ABSENT = "addIfAbsent"


class ListOverriderOperator(StrEnum):
    """What a command or args overrider does."""

    ADD = "add"
    REMOVE = "remove"


class ImageComponent(StrEnum):
    """The parts of an image name: `registry/repository:tag` or `...@digest`."""

    REGISTRY = "Registry"
    REPOSITORY = "Repository"
    TAG = "Tag"


class PlaintextOverrider(Struct, frozen=True, kw_only=True):
    """Changes any field, like one operation of a JSON patch."""

    path: str
    """JSON pointer to the field."""
    operator: Annotated[str, Schema(enum=OverriderOperator)]
    """What to do."""
    value: OpenValue = ABSENT
    """The value to add or to replace with; not used to remove."""


class ImagePredicate(Struct, frozen=True, kw_only=True):
    """Says where images are found."""

    path: str
    """JSON pointer to a field that holds an image name."""


class ImageOverrider(Struct, frozen=True, kw_only=True):
    """Changes a part of image names."""

    predicate: ImagePredicate | None = None
    """Which images; if absent, those of the pod template of well-known workloads."""
    component: Annotated[str, Schema(enum=ImageComponent)]
    """The part to change. A tag may be a digest."""
    operator: Annotated[str, Schema(enum=OverriderOperator)]
    """What to do."""
    value: str = ""
    """The text to add or to replace with; not used to remove."""


class CommandArgsOverrider(Struct, frozen=True, kw_only=True):
    """Changes the command or the arguments of a container."""

    container_name: str
    """The container."""
    operator: Annotated[str, Schema(enum=ListOverriderOperator)]
    """add appends words, remove drops every word that is equal to one of them."""
    value: tuple[str, ...] = ()
    """The words to append or to drop."""


class LabelAnnotationOverrider(Struct, frozen=True, kw_only=True):
    """Changes labels or annotations."""

    operator: Annotated[str, Schema(enum=MapOverriderOperator)]
    """add sets keys, replace and remove touch only keys that exist, addIfAbsent only keys that do not."""
    value: dict[str, str] | None
    """The keys and their values."""


class FieldPatchOperation(Struct, frozen=True, kw_only=True):
    """One change inside a document that is embedded in a field."""

    sub_path: str
    """JSON pointer inside the document."""
    operator: Annotated[str, Schema(enum=OverriderOperator)]
    """What to do."""
    value: OpenValue = ABSENT
    """The value to add or to replace with; not used to remove."""


class FieldOverrider(Struct, frozen=True, kw_only=True):
    """Changes a JSON or YAML document that is the text of a field, such as a value of a ConfigMap."""

    field_path: str
    """JSON pointer to the field that holds the document."""
    json: tuple[FieldPatchOperation, ...] = ()
    """Changes if the document is JSON. Excludes yaml."""
    yaml: tuple[FieldPatchOperation, ...] = ()
    """Changes if the document is YAML. Excludes json."""


class ReplicasOverrider(Struct, frozen=True, kw_only=True):
    """Sets the replicas of the copy; what was scheduled stays visible in the binding."""

    value: Annotated[Int32, Schema(minimum=0)]
    """The number of replicas."""


class ContainerResources(Struct, frozen=True, kw_only=True):
    """Amounts a container asks for and may not exceed."""

    limits: ResourceList = field(default_factory=dict)
    """Upper bounds."""
    requests: ResourceList = field(default_factory=dict)
    """Amounts that are set aside."""


class ResourcesOverrider(Struct, frozen=True, kw_only=True):
    """Merges amounts into the resources of a container."""

    container_name: str
    """The container; it must exist."""
    value: ContainerResources
    """The amounts to set; others stay as they are."""


class Overriders(Struct, frozen=True, kw_only=True):
    """The changes to make. They are made in the order in which the fields are listed here."""

    image_overrider: tuple[ImageOverrider, ...] = ()
    """Changes of image names."""
    command_overrider: tuple[CommandArgsOverrider, ...] = ()
    """Changes of container commands."""
    args_overrider: tuple[CommandArgsOverrider, ...] = ()
    """Changes of container arguments."""
    labels_overrider: tuple[LabelAnnotationOverrider, ...] = ()
    """Changes of labels."""
    annotations_overrider: tuple[LabelAnnotationOverrider, ...] = ()
    """Changes of annotations."""
    replicas_overrider: tuple[ReplicasOverrider, ...] = ()
    """The number of replicas; the last one given wins."""
    resources_overrider: tuple[ResourcesOverrider, ...] = ()
    """Changes of container resources."""
    field_overrider: tuple[FieldOverrider, ...] = ()
    """Changes inside embedded documents."""
    plaintext: tuple[PlaintextOverrider, ...] = ()
    """Changes of any field."""


class RuleWithCluster(Struct, frozen=True, kw_only=True):
    """Changes for some clusters."""

    target_cluster: ClusterAffinity | None = None
    """The clusters; all if absent."""
    overriders: Overriders
    """The changes."""


class OverrideSpec(Struct, frozen=True, kw_only=True):
    """Which resources change, and how, per cluster."""

    resource_selectors: tuple[ResourceSelector, ...] = ()
    """The resources; all of the policy's reach if empty."""
    override_rules: tuple[RuleWithCluster, ...] = ()
    """Changes per set of clusters, applied in this order."""
    target_cluster: ClusterAffinity | None = None
    """Old form of one rule's clusters; use overrideRules."""
    overriders: Overriders = Overriders()
    """Old form of one rule's changes; use overrideRules."""


class OverridePolicy(Struct, frozen=True, kw_only=True):
    """Changes copies of resources of its own namespace."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = always("policy.karmada.io/v1alpha1")
    kind: Literal["OverridePolicy"] = always("OverridePolicy")
    metadata: ObjectMeta = ObjectMeta()
    spec: OverrideSpec
    """Which resources change, and how."""


class ClusterOverridePolicy(Struct, frozen=True, kw_only=True):
    """Changes copies of resources of any namespace and of cluster-scoped resources."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = always("policy.karmada.io/v1alpha1")
    kind: Literal["ClusterOverridePolicy"] = always("ClusterOverridePolicy")
    metadata: ObjectMeta = ObjectMeta()
    spec: OverrideSpec
    """Which resources change, and how."""
