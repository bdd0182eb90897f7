"""Local, indexed copies of collections that follow the server: list and watch, done once for everybody.

- `cache`: the objects and their indexes; turns what the server says into real differences. No I/O.
- `reflector`: list + watch with resuming, streaming lists, relisting and backoff. Owns no objects.
- `informer`: both together, plus handlers and the rule that nobody reads before the first load.
- `factory`: one shared informer per collection and process.
- `dynamic`: informers for kinds that come and go.
"""
