"""Random requests for what a server says of itself: discovery, health, OpenAPI, and places that do not exist."""

from random import Random

from karmada.testing.differential.kube.scenarios import Step, kinds

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PLACES = (
    *("/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/nope", "/healthz/etcd"),
    *("/nope", "/api/v2", "/apis/nope", "/apis/apps/v9", "/apis/apps/v1/nope", "/api/v1/nope/x", "/apis/apps/nope"),
    *("/openapi/v3/nope", "/openapi/nope", "/version/", "/api/", "/apis/", "/apis/apps/", "/.well-known/nope"),
    *("/.well-known/openid-configuration", "/metrics/nope", "/api/v1/namespaces/${ns}/nope/x/y", "/logs/x"),
    *("/api/v1/namespaces/${ns}/services/none/proxy", "/api/v1/nodes/none/proxy", "/api/v1/componentstatuses/none"),
    *("/api/v1/namespaces/${ns}/pods/none/log", "/api/v1/namespaces/${ns}/pods/none/exec", "/api/v1/proxy/nodes/n"),
    *("/api/v1/namespaces/none/pods", "/api/v1/namespaces/${ns}/bindings", "/api/v1/watch/nope", "/apis/apps/v1/watch"),
)


def browse_scenario(dice: Random) -> list[Step]:
    """A few readings."""
    steps: list[Step] = []
    for _ in range(dice.randint(3, 6)):
        kind = dice.choice(kinds()).type
        group = f"/apis/{kind.group}" if kind.group else "/api"
        path = dice.choice((*dice.sample(_PLACES, 6), group, f"{group}/{kind.version}", f"{group}/{kind.version}"))
        accept = dice.choice(("", "", "application/json", "application/yaml", "text/html", "*/*", "application/xml"))
        if path in ("/api", "/apis") and dice.random() < 0.4:
            accept = _AGGREGATED
        method = dice.choice(("GET",) * 8 + ("HEAD", "POST", "OPTIONS"))
        steps.append({"method": method, "path": path, "headers": {"Accept": accept} if accept else {}})
    return steps
