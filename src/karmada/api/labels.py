"""Well-known label keys, their fixed values, and where each is found.

Plain strings and tuples of them: this module is imported everywhere and does no work.
"""

# Permanent identities: a UUID that survives renames and is repeated on everything made from the object.
PROPAGATION_POLICY_PERMANENT_ID = "propagationpolicy.karmada.io/permanent-id"
"""On a PropagationPolicy, the templates it claimed and their ResourceBindings."""
CLUSTER_PROPAGATION_POLICY_PERMANENT_ID = "clusterpropagationpolicy.karmada.io/permanent-id"
"""On a ClusterPropagationPolicy, the templates it claimed and their bindings."""
CLAIMS = (PROPAGATION_POLICY_PERMANENT_ID, CLUSTER_PROPAGATION_POLICY_PERMANENT_ID)
"""A template or binding with one of them belongs to a policy."""
RESOURCE_BINDING_PERMANENT_ID = "resourcebinding.karmada.io/permanent-id"
"""On a ResourceBinding, its Works, and the object in the member."""
CLUSTER_RESOURCE_BINDING_PERMANENT_ID = "clusterresourcebinding.karmada.io/permanent-id"
"""On a ClusterResourceBinding, its Works, and the object in the member."""
WORK_PERMANENT_ID = "work.karmada.io/permanent-id"
"""On a Work, its manifest, the object in the member, and imported EndpointSlices."""
MULTI_CLUSTER_SERVICE_PERMANENT_ID = "multiclusterservice.karmada.io/permanent-id"
"""On a MultiClusterService, its Works, the Service template and its binding."""

# Ownership and behaviour of templates.
MANAGED = "karmada.io/managed"
"""`true` on every object in a member that Karmada owns."""
SYSTEM = "karmada.io/system"
"""`true` on namespaces, secrets and RBAC objects made by Karmada for itself."""
RETAIN_REPLICAS = "resourcetemplate.karmada.io/retain-replicas"
"""`true` on a template: the member keeps its own spec.replicas."""
CLAIMED_BY = "resourcetemplate.karmada.io/claimed-by"
"""Kind that propagates this template instead of a policy; the detector leaves it alone."""
DELETION_PROTECTED = "resourcetemplate.karmada.io/deletion-protected"
"""`Always` on any object: deletion is refused."""
SKIP_AUTO_PROPAGATION = "namespace.karmada.io/skip-auto-propagation"
"""`true` on a Namespace: it is not copied to the members."""
BINDING_MANAGED_BY = "binding.karmada.io/managed-by"
"""Kind that manages a ResourceBinding when no policy does."""
SCHEDULED = (*CLAIMS, BINDING_MANAGED_BY)
"""Bindings with one of them are scheduled; all others go where whoever wrote them says."""
DEPENDED_BY_PREFIX = "resourcebinding.karmada.io/depended-by-"
"""Followed by `names.binding_reference_key`; the value is the independent binding's permanent id."""

# Origin of Works that carry something other than a propagated template.
ENDPOINT_SLICE_NAMESPACE = "endpointslice.karmada.io/namespace"
"""Namespace of the Service whose collected EndpointSlice a Work holds."""
ENDPOINT_SLICE_NAME = "endpointslice.karmada.io/name"
"""Name of the Service whose collected EndpointSlice a Work holds."""
ENDPOINT_SLICE_MANAGED_BY = "endpointslice.karmada.io/managed-by"
"""Dot-joined set of `ServiceExport` and `MultiClusterService` that use the collected slice."""
MULTI_CLUSTER_SERVICE_NAMESPACE = "multiclusterservice.karmada.io/namespace"
"""Namespace of the MultiClusterService a Work belongs to."""
MULTI_CLUSTER_SERVICE_NAME = "multiclusterservice.karmada.io/name"
"""Name of the MultiClusterService a Work belongs to."""
FEDERATED_RESOURCE_QUOTA_NAMESPACE = "federatedresourcequota.karmada.io/namespace"
"""Namespace of the FederatedResourceQuota a Work belongs to."""
FEDERATED_RESOURCE_QUOTA_NAME = "federatedresourcequota.karmada.io/name"
"""Name of the FederatedResourceQuota a Work belongs to."""

# Labels defined by Kubernetes that Karmada writes.
KUBERNETES_ENDPOINT_SLICE_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
"""One of the two EndpointSlice controllers below."""
KUBERNETES_SERVICE_NAME = "kubernetes.io/service-name"
"""Service an EndpointSlice belongs to."""
APP_MANAGED_BY = "app.kubernetes.io/managed-by"
"""`karmada-operator` on objects the operator made."""
APP_NAME = "app.kubernetes.io/name"
"""Component an operator-made object belongs to."""
APP_INSTANCE = "app.kubernetes.io/instance"
"""Name of the Karmada object an operator-made object belongs to."""

# Installation.
DISABLE_CASCADING_DELETION = "operator.karmada.io/disable-cascading-deletion"
"""`true` on a Karmada object: its components survive its deletion."""
BOOTSTRAPPING = "karmada.io/bootstrapping"
"""On objects made by `karmadactl init`; `deinit` looks for it."""

# Fixed values.
TRUE = "true"
"""Value of the boolean labels above."""
DELETION_PROTECTED_ALWAYS = "Always"
"""The only value of DELETION_PROTECTED that protects."""
IMPORTED_ENDPOINT_SLICE_CONTROLLER = "endpointslice-controller.karmada.io"
"""Manager of EndpointSlices imported into the control plane."""
DISPATCHED_ENDPOINT_SLICE_CONTROLLER = "endpointslice-dispatch-controller.karmada.io"
"""Manager of EndpointSlices dispatched to members."""
