"""Differences from the recordings that are meant. Mirrored for users in docs/differences-from-karmada.md."""

from karmada.testing.traces.comparing import Explanation

EXPLANATIONS: list[Explanation] = [
    Explanation(
        "members are written fewer times, so the generation that their objects report is lower",
        r"/(manifestStatuses|aggregatedStatus)/[^/]+(/[^/]+)?/status/generation$",
    ),
    Explanation(
        "simulated kubelets report what real ones do: container and image IDs, host addresses, sandbox condition",
        r"/status/(podIP|hostIPs|containerStatuses/.*/(containerID|imageID)|conditions/.type=PodReadyToStartContainers.)",
    ),
    Explanation(
        "a policy keeps a field that was set to its zero value; Karmada's webhook drops it",
        r"(Propagation|Override)Policy\.policy\.karmada\.io [^ ]*/spec/\w+$",
        expected=r"^<absent>$",
        found=r"^(false|0|\"\")$",
    ),
    Explanation(
        "statuses say more: when a copy was first seen unhealthy (bindings), who exports a service (ServiceImports), "
        "whether a Deployment is available in all members together (templates)",
        r"(ResourceBinding\.work\.karmada\.io [^ ]*/status/unhealthySince"
        r"|karmada/Deployment\.apps [^ ]*/status/conditions(/.type=(Available|Progressing)..*)?"
        r"|ServiceImport\.multicluster\.x-k8s\.io [^ ]*/status)$",
        expected=r"^<absent>$",
    ),
    Explanation(
        "the Ready condition of a cluster that cannot be reached says why",
        r"/status/conditions/.type=Ready./message$",
        expected=r'^"cluster is not reachable"$',
        found=r'^"cluster is not reachable: ',
    ),
    Explanation(
        "the recording ended before the returned member's evicted copy was deleted; here it is deleted at once",
        r"^cluster-down-eviction: 03-member3-back\.yaml (karmada/Work karmada-es-member3|members/member3/Deployment)",
        found=r"^<absent>$",
    ),
    Explanation(
        "the name of a pod, which of two equally good nodes it gets, and when its slice forgets the change are chance",
        r"((Pod|lone-pod).*/(status/hostIP|spec/nodeName)|EndpointSlice.*/endpoints/\d+/(nodeName|targetRef/(name|uid))"
        r"|members/\w+/EndpointSlice\.discovery\.k8s\.io [^ ]*/metadata/annotations)$",
    ),
    Explanation(
        "while this was recorded, member3 had no running workload controllers: its Deployment never got pods",
        r"^preemption-gate-on: [^ ]+ (karmada/Deployment\.apps [^ ]*/status|members/member3/Deployment.*/status"
        r"|karmada/Work karmada-es-member3 .*/status|karmada/.*/aggregatedStatus/.clusterName=member3.)"
        r"(/.*)?/(health|terminatingReplicas|(available|ready|updated)?[rR]eplicas"
        r"|conditions/.type=(Available|Progressing).*)$",
    ),
    Explanation(
        "agents write their events in their execution space, whatever they are about",
        r"^pull-[^:]*: event only in (A|B) .* Sync(Succeed|Failed)$",
    ),
    Explanation(
        "events about quotas: a ResourceQuota that reached a member has one, a reconcile that changed nothing has none",
        r"event only in (B .* ResourceQuota [^ ]+ [^ ]+ (Normal|Warning) Sync(Succeed|Failed)"
        r"|A .* FederatedResourceQuota [^ ]+ [^ ]+ Normal (AggregateStatus|SyncWork)Succeed)$",
    ),
]
