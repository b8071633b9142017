"""Federated analytics: counts of words, histograms and numbers of distinct items, against plain Python."""

import collections
import inspect

import numpy as np
import pytest

WORDS = [
    ["apple", "pear", "apple", "plum"],
    ["pear", "apple", "fig"],
    ["plum", "apple", "fig", "fig", "pear", "pear"],
]


def word_datasets(clients=WORDS):
    """Return each client's words as a dataset."""
    import tensorflow as tf

    return [tf.data.Dataset.from_tensor_slices(words) for words in clients]


def longest(function, record_property, size=10):
    """Return the argument that limits the length of words, under this release's name."""
    names = inspect.signature(function).parameters
    name = "string_max_bytes" if "string_max_bytes" in names else "max_string_length"
    record_property("spelling", name)
    return {name: size}


def as_counts(words, counts):
    """Return words and their counts as a mapping."""
    return {bytes(word).decode(): int(count) for word, count in zip(np.array(words), np.array(counts))}


@pytest.mark.capability(
    "analytics.heavy-hitters",
    title="Heavy hitters",
    says="The words that clients hold, and how often, come out of a sum of sketches (IBLT), exactly.",
    looks_for=[("tff.analytics.heavy_hitters.iblt.build_iblt_computation",)],
)
def test_the_words_of_all_clients_are_counted(find, record_property):
    build = find("tff.analytics.heavy_hitters.iblt.build_iblt_computation")
    count = build(capacity=20, **longest(build, record_property, size=5))
    output = count([words.batch(2) for words in word_datasets()])
    expected = collections.Counter(word for words in WORDS for word in words)
    assert as_counts(output.heavy_hitters, output.heavy_hitters_counts) == dict(expected)
    assert int(output.clients) == len(WORDS)
    assert int(output.num_not_decoded) == 0


@pytest.mark.quick
@pytest.mark.capability(
    "analytics.local-counts",
    title="A client's own counts",
    says="A client's words are reduced to its most frequent ones with their counts.",
    looks_for=[("tff.analytics.data_processing.get_top_elements_with_counts",)],
)
def test_the_most_frequent_words_of_a_client(find, record_property):
    top = find("tff.analytics.data_processing.get_top_elements_with_counts")
    words, counts = top(word_datasets()[2].batch(1), 2, **longest(top, record_property))
    assert as_counts(words, counts) == {"fig": 2, "pear": 2}


def leaves_and_total(tree):
    """Return the counts of the finest layer of a tree of counts, and that of its root."""
    import tensorflow as tf

    if not isinstance(tree, tf.RaggedTensor):
        tree = tf.RaggedTensor.from_nested_row_splits(tree["flat_values"], tree["nested_row_splits"])
    layers = tree.to_list()
    return layers[-1], layers[0][0]


@pytest.mark.capability(
    "analytics.histogram",
    title="Hierarchical histogram",
    says="Clients' numbers are counted in bins, layer upon layer, as counting them in one place gives.",
    looks_for=[("tff.analytics.build_hierarchical_histogram_process",)],
)
def test_a_histogram_over_clients(find):
    import tensorflow as tf

    build = find("tff.analytics.build_hierarchical_histogram_process")
    how = {"enable_secure_sum": False} if "enable_secure_sum" in inspect.signature(build).parameters else {}
    process = build(0.0, 8.0, 4, max_records_per_user=10, **how)
    clients = [[0.5, 1.0, 3.9], [6.1, 7.9, 0.0, 2.5], [4.4]]
    data = [tf.data.Dataset.from_tensor_slices(np.array(numbers, np.float32)) for numbers in clients]
    result, _ = process.next(process.initialize(), data)
    leaves, total = leaves_and_total(getattr(result, "aggregated_hierarchical_histogram", result))
    expected = np.histogram(np.concatenate(clients), bins=4, range=(0, 8))[0]
    assert np.array_equal(np.array(leaves).astype(int), expected)
    assert int(total) == sum(len(numbers) for numbers in clients)


def log_log_estimate(items):
    """Return the HyperLogLog estimate, from 32 registers, of how many of the items are distinct."""
    import tensorflow as tf

    registers = [0] * 32
    for number in tf.strings.to_hash_bucket_fast(list(items), 2**32).numpy():
        register, rest = divmod(int(number), 2**27)
        registers[register] = max(registers[register], 28 - rest.bit_length())
    return int(0.697 * 32**2 / sum(0.5**value for value in registers))


@pytest.mark.capability(
    "analytics.distinct-count",
    title="Number of distinct items",
    says="How many distinct words clients hold together is estimated by HyperLogLog.",
    looks_for=[("tff.analytics.count_distinct.create_federated_hyperloglog_computation",)],
)
def test_distinct_words_are_estimated(find):
    estimate = find("tff.analytics.count_distinct.create_federated_hyperloglog_computation")()
    clients = [[f"word {number % 150}" for number in range(start, start + 90)] for start in (0, 60, 120)]
    found = int(estimate(word_datasets(clients)))
    distinct = set().union(*clients)
    assert found == log_log_estimate(distinct)
    assert len(distinct) / 2 < found < len(distinct) * 2
