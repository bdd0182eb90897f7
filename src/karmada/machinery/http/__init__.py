"""The HTTP transport: any conformant API server, as a kubeconfig or the pod's own service account describes it.

Built directly on asyncio and httptools: a request costs a fifth of what general-purpose clients take, and importing it
costs little enough for a command line tool (nothing here may import msgspec, yaml, aiohttp or cryptography at import
time).

- `kubeconfig`: files and the pod's own files to one `Target`
- `credentials`, `tls`: who we are, refreshed when it changes
- `paths`: API requests as HTTP requests
- `connection`, `pool`, `proxy`: bytes on the wire, connections kept and reused
- `streaming`: watch lines in batches
- `transport`: all of it together, with deadlines and safe retries
"""
