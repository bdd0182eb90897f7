"""All routes of the dashboard."""

from karmada.dashboard.routes import API, ROOT, Demand, Route


def table() -> list[Route]:
    """The routes in the order in which they are tried."""
    from karmada.dashboard import (
        applying,
        events_and_drift,
        joining,
        nodes,
        objects,
        pages,
        pods,
        policies,
        search,
        signing,
        simulation,
        views,
        workload,
    )

    get, post = "GET", "POST"
    return [
        Route(get, f"{ROOT}/login", Demand.NOTHING, signing.page),
        Route(post, f"{ROOT}/login", Demand.NOTHING, signing.login),
        Route(get, f"{ROOT}/static/{{rest}}", Demand.NOTHING, pages.file),
        Route(post, f"{ROOT}/logout", Demand.ASK, signing.logout),
        Route(post, f"{API}/link", Demand.PROGRAM, signing.link),
        Route(get, f"{API}/session", Demand.IDENTITY, signing.session),
        Route(get, f"{API}/overview", Demand.IDENTITY, views.overview),
        Route(get, f"{API}/clusters", Demand.IDENTITY, views.clusters),
        Route(get, f"{API}/clusters/{{name}}", Demand.IDENTITY, views.cluster),
        Route(get, f"{API}/clusters/{{name}}/nodes", Demand.IDENTITY, nodes.nodes),
        Route(get, f"{API}/workloads", Demand.IDENTITY, views.workloads),
        Route(get, f"{API}/workload", Demand.IDENTITY, workload.workload),
        Route(get, f"{API}/policies", Demand.IDENTITY, policies.policies),
        Route(get, f"{API}/policy", Demand.IDENTITY, policies.policy),
        Route(post, f"{API}/simulate", Demand.ASK, simulation.simulate),
        Route(post, f"{API}/dry-run", Demand.ASK, applying.dry_run),
        Route(post, f"{API}/apply", Demand.WRITE, applying.apply),
        Route(post, f"{API}/join", Demand.WRITE, joining.join),
        Route(get, f"{API}/object", Demand.IDENTITY, objects.object_),
        Route(get, f"{API}/schema", Demand.IDENTITY, objects.schema),
        Route(get, f"{API}/events", Demand.IDENTITY, events_and_drift.events),
        Route(get, f"{API}/drift", Demand.IDENTITY, events_and_drift.drift),
        Route(get, f"{API}/search", Demand.IDENTITY, search.search),
        Route(get, f"{API}/pods/{{cluster}}/{{namespace}}/{{pod}}/log", Demand.IDENTITY, pods.log),
        Route(get, f"{API}/pods/{{cluster}}/{{namespace}}/{{pod}}/exec", Demand.SOCKET, pods.exec_),
        Route(get, f"{API}/stream", Demand.IDENTITY, views.stream),
        Route(get, ROOT, Demand.PAGE, pages.index),
        Route(get, f"{ROOT}/{{rest}}", Demand.PAGE, pages.index),
    ]
