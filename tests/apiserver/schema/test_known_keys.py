"""Keys of labels and annotations that were found good are not judged again; the others always are."""

from karmada.apiserver.schema import metadata


def test_a_bad_key_beside_known_ones_is_refused_every_time() -> None:
    good = {"app": "web", "example.com/tier": "front"}
    for judge in (metadata.labels, metadata.annotations):
        assert judge(good, "path") == []
        assert judge(good, "path") == []
        for _ in range(2):
            [error] = judge({**good, "not/a/key": "x"}, "path")
            assert error.field == "path"


def test_a_key_that_is_good_for_annotations_only_stays_bad_for_labels() -> None:
    mixed = {"Example.com/Name": "x"}
    assert metadata.annotations(mixed, "path") == []
    assert metadata.labels(mixed, "path") != []


def test_values_of_known_label_keys_are_judged() -> None:
    assert metadata.labels({"app": "web"}, "path") == []
    assert metadata.labels({"app": "not valid"}, "path") != []


def test_keys_that_come_in_masses_are_not_all_remembered() -> None:
    assert metadata.annotations({f"key-{number}": "" for number in range(20_000)}, "path") == []
    assert len(metadata._good_annotations) <= metadata._REMEMBERED


def test_the_size_of_annotations_counts_bytes_of_keys_and_values() -> None:
    limit = 256 * 1024
    assert metadata.annotations({"a": "ü" * ((limit - 1) // 2)}, "path") == []
    assert metadata.annotations({"a": "ü" * ((limit + 1) // 2)}, "path") != []
