"""Durable history of objects: the `Storage` protocol and its implementations (memory, SQLite, etcd)."""
