"""ResourceRegistry: what the cache over all clusters holds.

It is served by karmada-search and has no CRD: readers accept objects that lack required fields, as for Cluster.
"""

from typing import Literal

from karmada.api.base import Struct, always
from karmada.api.cluster.v1alpha1 import LocalSecretReference
from karmada.api.meta import Condition, ObjectMeta
from karmada.api.policy.v1alpha1 import ClusterAffinity


class ResourceSelector(Struct, frozen=True, kw_only=True):
    """Chooses resources to cache."""

    api_version: str = always("")
    """Their API version."""
    kind: str = always("")
    """Their kind."""
    namespace: str = ""
    """Their namespace; all if empty."""


class OpenSearchConfig(Struct, frozen=True, kw_only=True):
    """An OpenSearch to which objects are sent."""

    addresses: tuple[str, ...] = always(())
    """Its addresses."""
    secret_ref: LocalSecretReference | None = None
    """Secret with username and password."""


class BackendStoreConfig(Struct, frozen=True, kw_only=True):
    """Where objects are kept; in memory if nothing is given."""

    open_search: OpenSearchConfig | None = None
    """An OpenSearch."""


class ResourceRegistrySpec(Struct, frozen=True, kw_only=True):
    """What is cached, from where."""

    target_cluster: ClusterAffinity = ClusterAffinity()
    """The clusters."""
    resource_selectors: tuple[ResourceSelector, ...] = always(())
    """The resources."""
    backend_store: BackendStoreConfig | None = None
    """Where objects are kept."""


class ResourceRegistryStatus(Struct, frozen=True, kw_only=True):
    """State of the cache."""

    conditions: tuple[Condition, ...] = ()
    """Its conditions."""


class ResourceRegistry(Struct, frozen=True, kw_only=True):
    """Makes resources of many clusters searchable in one place."""

    api_version: Literal["search.karmada.io/v1alpha1"] = always("search.karmada.io/v1alpha1")
    kind: Literal["ResourceRegistry"] = always("ResourceRegistry")
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceRegistrySpec = always(ResourceRegistrySpec())
    """What is cached, from where."""
    status: ResourceRegistryStatus = ResourceRegistryStatus()
    """State of the cache."""
