"""karmada-search: the objects of all clusters, cached, as one API (`search/cache`, `proxying`).

- `registry_type`, `plan`, `controller`: ResourceRegistries, what they ask for, and its state in their conditions
- `mirror`, `caches`: one watch cache per cluster and kind, fed by list and watch of the member
- `resource_versions`: composite resource versions and continue tokens
- `access`: what the asking user may read in each member
- `reading`, `watching`, `tables`: get, list and watch over all members
- `routes`, `proxy`, `cache_endpoint`: which of cache, cluster and control plane answers a request
- `facts`, `database`, `fulltext`: what is cached in a file, for the next start and for queries
- `query`, `query_endpoint`: objects by their words
- `api`: all of it as one API group
"""
