"""Well-known annotation keys and where each is found.

Plain strings only: this module is imported everywhere and does no work.
"""

# The policy that claimed a template, on the template and its binding.
PROPAGATION_POLICY_NAMESPACE = "propagationpolicy.karmada.io/namespace"
"""Namespace of the claiming PropagationPolicy."""
PROPAGATION_POLICY_NAME = "propagationpolicy.karmada.io/name"
"""Name of the claiming PropagationPolicy."""
CLUSTER_PROPAGATION_POLICY_NAME = "clusterpropagationpolicy.karmada.io/name"
"""Name of the claiming ClusterPropagationPolicy."""

COMPONENT_VERSION = "karmada.io/component-version"
"""On a Lease: the version of the component that renews it."""

SHARDS = "karmada.io/shards"
"""On a Lease of a sharded component: into how many shards its holder divides the keys."""

TRACEPARENT = "tracing.karmada.io/traceparent"
"""On a template, its binding and Works: a W3C trace context; what is done about them is recorded under it."""

# What was last applied.
APPLIED_PLACEMENT = "policy.karmada.io/applied-placement"
"""On a binding: JSON of the placement the scheduler used last."""
APPLIED_OVERRIDES = "policy.karmada.io/applied-overrides"
"""On a Work: JSON list of the OverridePolicies that took effect, by policy name."""
APPLIED_CLUSTER_OVERRIDES = "policy.karmada.io/applied-cluster-overrides"
"""On a Work: JSON list of the ClusterOverridePolicies that took effect, by policy name."""
LAST_APPLIED_CONFIGURATION = "kubectl.kubernetes.io/last-applied-configuration"
"""On any object: what client-side apply sent last."""

# Owners, on Works, manifests and objects in members.
RESOURCE_BINDING_NAMESPACE = "resourcebinding.karmada.io/namespace"
"""Namespace of the owning ResourceBinding."""
RESOURCE_BINDING_NAME = "resourcebinding.karmada.io/name"
"""Name of the owning ResourceBinding."""
CLUSTER_RESOURCE_BINDING_NAME = "clusterresourcebinding.karmada.io/name"
"""Name of the owning ClusterResourceBinding."""
WORK_NAMESPACE = "work.karmada.io/namespace"
"""Namespace of the owning Work."""
WORK_NAME = "work.karmada.io/name"
"""Name of the owning Work."""
MULTI_CLUSTER_SERVICE_NAMESPACE = "multiclusterservice.karmada.io/namespace"
"""Namespace of the owning MultiClusterService, on its Service template and binding."""
MULTI_CLUSTER_SERVICE_NAME = "multiclusterservice.karmada.io/name"
"""Name of the owning MultiClusterService, on its Service template and binding."""

# The template behind a manifest.
CONFLICT_RESOLUTION = "work.karmada.io/conflict-resolution"
"""`overwrite` or `abort`: what to do when the member already has the object."""
FENCED = "work.karmada.io/fenced"
"""On a Work, `true`: it goes only after the member confirmed that its object and all it owns are gone."""
TEMPLATE_UID = "resourcetemplate.karmada.io/uid"
"""UID of the template."""
TEMPLATE_GENERATION = "resourcetemplate.karmada.io/generation"
"""Generation of the template, when it is above zero."""
MANAGED_ANNOTATIONS = "resourcetemplate.karmada.io/managed-annotations"
"""Comma-joined sorted annotation keys of the manifest, both managed-* keys included."""
MANAGED_LABELS = "resourcetemplate.karmada.io/managed-labels"
"""Comma-joined sorted label keys of the manifest."""
DEPENDENCIES = "resourcebinding.karmada.io/dependencies"
"""On an independent binding: JSON list of the objects it depends on."""

# Clusters an object came from.
ENDPOINT_SLICE_PROVISION_CLUSTER = "endpointslice.karmada.io/provision-cluster"
"""Source cluster of a dispatched EndpointSlice."""
TRIMMED_FIELDS = "search.karmada.io/trimmed-fields"
"""Of a ResourceRegistry: dotted paths of fields that are not cached, separated by commas."""
CHILDREN_OF_TEMPLATES = "search.karmada.io/children-of-templates"
"""Of a ResourceRegistry: whether controllers in members create the objects it selects, so that they belong under
templates in the view of templates; "true" or absent."""
CACHED_FROM_CLUSTER = "resource.karmada.io/cached-from-cluster"
"""Cluster of an object answered from the search cache or proxy."""
QUERY_FROM_CLUSTER = "resource.karmada.io/query-from-cluster"
"""Cluster of a PodMetrics or NodeMetrics answered by the metrics adapter."""

# The network of a cluster's pods, on the Cluster.
NETWORKS = "network.karmada.io/networks"
"""Comma-separated names of the networks its pods are in: clusters that share one have routes to each other's pods."""
POD_CIDRS = "network.karmada.io/pod-cidrs"
"""Comma-separated ranges of the addresses of its pods."""
# Quotas.
QUOTA_NAMESPACES = "policy.karmada.io/quota-namespace-selector"
"""On a FederatedResourceQuota in karmada-system: the label selector of the namespaces that it counts."""

# Fixed values.
CONFLICT_OVERWRITE = "overwrite"
"""Value of CONFLICT_RESOLUTION: take the existing object over."""
CONFLICT_ABORT = "abort"
"""Value of CONFLICT_RESOLUTION: leave the existing object alone and report."""

# What a bootstrap token allows an agent, on the token's Secret; the last two also on the record of a registration.
ALLOWED_REGISTRATIONS = "agent.karmada.io/registrations"
"""How many clusters may register with the token; one if absent."""
ALLOWED_CLUSTERS = "agent.karmada.io/clusters"
"""Comma-separated names under which clusters may register; any if absent."""
ALLOWED_CERTIFICATE_SECONDS = "agent.karmada.io/certificate-seconds"
"""How long the first certificate may last; a day if absent."""
ALLOWED_FIELDS = "agent.karmada.io/fields"
"""Comma-separated fields of its Cluster that the agent may choose; none if absent."""
GRANTED_LABELS = "agent.karmada.io/labels"
"""Labels that the Cluster gets, as `key=value,key=value`."""
REGISTERED_CLUSTERS = "agent.karmada.io/registered"
"""Comma-separated names of the clusters that registered with the token; written by the control plane."""
REGISTRATION_USERS = "agent.karmada.io/users"
"""On the record of a registration: the users of the tokens it and those that it replaced came by, comma-separated."""
REGISTRATION_REQUEST = "agent.karmada.io/request"
"""On the record of a registration: the uid of the request that began it."""
REGISTRATION_REPLACES = "agent.karmada.io/replaces"
"""On the record of a registration whose token is not spent yet: what is good again if it is refused, as JSON."""
AGENT_SECRET = "agent.karmada.io/cluster"
"""On a Secret that an agent wrote: the name of its cluster."""
SIMULATED_PROCESSES = "simulator.karmada.io/processes"
"""On a simulated Node: the namespaces, comma-separated, whose pods are processes; containers elsewhere run nothing."""
SIMULATED_RUNTIME = "simulated://"
"""How the container runtime of such a Node begins."""
