from karmada.machinery.sharding.balance import preference, shard_of, share

REPLICAS = [f"replica-{number}" for number in range(7)]


def test_the_shares_of_all_replicas_sum_up_to_all_shards():
    for count in range(1, 17):
        for live in range(1, len(REPLICAS) + 1):
            shares = [share(replica, REPLICAS[:live], count) for replica in REPLICAS[:live]]
            assert sum(shares) == count
            assert max(shares) - min(shares) <= 1


def test_a_replica_that_does_not_know_itself_counts_itself():
    assert share("replica-1", ["replica-0"], 4) == 2


def test_keys_spread_over_all_shards_that_have_keys():
    keys = [f"space-{number % 10}/app-{number}" for number in range(4000)]
    found = [shard_of(key, 5, first=1) for key in keys]
    counts = [found.count(shard) for shard in range(5)]
    assert counts[0] == 0
    assert min(counts[1:]) > 800


def test_a_key_belongs_to_the_same_shard_in_every_process():
    assert [shard_of(key, 8) for key in ("default/web", "member1", "")] == [0, 3, 0]


def test_a_replica_wants_every_shard_once_and_the_first_one_first():
    for replica in REPLICAS:
        assert preference(replica, 8)[0] == 0
        assert sorted(preference(replica, 8)) == list(range(8))
    assert len({tuple(preference(replica, 8)) for replica in REPLICAS}) > 1
