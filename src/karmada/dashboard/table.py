"""All routes of the dashboard."""

from karmada.dashboard.routes import API, ROOT, Demand, Route


def table() -> list[Route]:
    """The routes in the order in which they are tried."""
    from karmada.dashboard import pages, signing, views

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
        Route(get, f"{API}/workloads", Demand.IDENTITY, views.workloads),
        Route(get, f"{API}/stream", Demand.IDENTITY, views.stream),
        Route(get, ROOT, Demand.PAGE, pages.index),
        Route(get, f"{ROOT}/{{rest}}", Demand.PAGE, pages.index),
    ]
