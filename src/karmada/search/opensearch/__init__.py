"""OpenSearch as a backend store of ResourceRegistries: what is cached is sent there, and nothing is lost meanwhile.

- `model`: which OpenSearch, and how it is
- `documents`: objects as documents, and what the answer to a bulk request means
- `queue`: what OpenSearch has and what waits for it, in a file
- `connection`: its addresses and the Secret with its credentials
- `backend`: follows caches, fills the queue and empties it into one OpenSearch
- `backends`: one backend for each OpenSearch that registries name
"""
