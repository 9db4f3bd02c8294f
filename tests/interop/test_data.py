# SPDX-License-Identifier: Apache-2.0
"""Input pipelines side by side: each function of `Dataset`, and each that makes one of files, has cases here, whose elements, their order,
dtypes, shapes and number are those of tf.data."""

import collections
import itertools
import os
import pathlib
import re

import numpy as np
import pytest
import tensorflow as tf

Dataset = tf.data.Dataset
SHUFFLED, EPOCHS = 100, 3


def square(x):
    return x * x + 1


def few(x):
    return Dataset.range(100 * x, 100 * x + x % 4)


def rows():
    return Dataset.from_tensor_slices((np.arange(1, 11, dtype=np.float32).reshape(5, 2), ["a", "", "c\n", "é", "e"]))


def counted_down():
    return Dataset.from_generator(lambda: range(5, 0, -1), output_signature=tf.TensorSpec([], tf.int64))


def numbers():
    return Dataset.range(11)


def sources(folder):
    texts = [str(folder / name) for name in ("unix.txt", "empty.txt", "dos.txt", "open.txt")]
    records = [str(folder / name) for name in ("theirs.tfrecord", "empty.tfrecord", "theirs.tfrecord")]
    yield "range.end", Dataset.range(5)
    yield "range.step", Dataset.range(2, 17, 4)
    yield "range.down", Dataset.range(10, 0, -3)
    yield "range.empty", Dataset.range(3, 3)
    yield "from_tensors.pair", Dataset.from_tensors((tf.constant([1.0, 2.0]), "x"))
    yield "from_tensor_slices.pair", rows()
    yield "from_tensor_slices.bytes", Dataset.from_tensor_slices(np.array([0, 255, 7], np.uint8))
    yield "from_function.squares", Dataset.range(6).map(lambda i: i * i)
    yield "from_rows.powers", Dataset.range(6).map(lambda i: tf.stack([i, i * i]))
    yield "from_generator.down", counted_down()
    yield "from_generator.repeated", counted_down().repeat(2)
    yield "text_line_dataset.files", tf.data.TextLineDataset(texts)
    yield "text_line_dataset.none", tf.data.TextLineDataset([])
    yield "text_line_dataset.inner", tf.data.TextLineDataset([str(folder / "inner.txt")])
    yield "allow_changed_sources.files", tf.data.TextLineDataset(texts)
    yield "tf_record_dataset.files", tf.data.TFRecordDataset(records)


def stages():
    yield "map.one", numbers().map(square)
    yield "map.parallel", numbers().map(square, num_parallel_calls=3, deterministic=True)
    yield "map.twice", numbers().map(square).map(square, num_parallel_calls=2).batch(4)
    yield "filter.odd", numbers().filter(lambda x: x % 2 != 0)
    yield "filter.nothing", numbers().filter(lambda x: x > 100)
    yield "zip.unequal", Dataset.zip(numbers(), Dataset.range(50, 55), rows())
    yield "zip.endless", Dataset.zip(numbers().repeat(), Dataset.range(25))
    yield "concatenate.two", numbers().concatenate(Dataset.range(30, 33))
    yield "concatenate.repeated", Dataset.range(2).concatenate(Dataset.range(7, 9)).repeat(2).batch(3)
    yield "flat_map.few", numbers().flat_map(few)
    for count in (0, 1, 3):
        yield f"repeat.{count}", numbers().repeat(count)
    yield "repeat.endless", numbers().repeat().take(40)
    yield "repeat.of_nothing", Dataset.range(0).repeat(4)
    for count in (-1, 0, 4, 50):
        yield f"take.{count}", numbers().take(count)
        yield f"skip.{count}", numbers().skip(count)
    yield "skip.of_endless", numbers().repeat().skip(15).take(12)
    for index in range(4):
        yield f"shard.{index}", numbers().shard(4, index)
        yield f"shard.batched_{index}", numbers().batch(2).shard(4, index)
    for size in (1, 3, 11, 20):
        yield f"batch.{size}", numbers().batch(size)
        yield f"batch.full_{size}", numbers().batch(size, drop_remainder=True)
    yield "batch.rows", rows().batch(2)
    yield "batch.batches", rows().take(4).batch(2).batch(2)
    yield "batch.repeated", numbers().batch(4).repeat(2)
    yield "batch.over_epochs", numbers().repeat(3).batch(4, drop_remainder=True)
    for size in (1, 4, 50):
        yield f"prefetch.{size}", numbers().map(square).prefetch(size).batch(3)
    for cycle, block, inputs in itertools.product(range(1, 7), range(1, 5), (0, 1, 4, 13)):
        yield f"interleave.{cycle}_{block}_{inputs}", Dataset.range(inputs).interleave(few, cycle_length=cycle, block_length=block)
    yield "interleave.repeated", Dataset.range(9).interleave(few, cycle_length=3, block_length=2).repeat(2).batch(4)


def shuffled():
    source = Dataset.range(SHUFFLED)
    for buffer in (1, 10, 100, 1000):
        yield f"shuffle.{buffer}", source.shuffle(buffer, 7).repeat(EPOCHS)
        yield f"shuffle.same_{buffer}", source.shuffle(buffer, 7, reshuffle_each_iteration=False).repeat(EPOCHS)
        yield f"shuffle.across_{buffer}", source.repeat(EPOCHS).shuffle(buffer, 7)
        yield f"shuffle.contents_{buffer}", source.filter(lambda _: True).shuffle(buffer, 7).repeat(EPOCHS)
    yield "shuffle.often", Dataset.range(20).shuffle(8, 7).repeat(5000).batch(20).batch(5000)


Case = collections.namedtuple("Case", "cardinality elements")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that TensorFlow wrote, or that a text editor might have."""
    path = tmp_path_factory.mktemp("data")
    (path / "unix.txt").write_bytes("one\n\nthree é\n".encode())
    (path / "empty.txt").write_bytes(b"")
    (path / "dos.txt").write_bytes(b"one\r\n\r\ntwo\r\n")
    (path / "inner.txt").write_bytes(b"t\rwo\r\n")
    (path / "open.txt").write_bytes(b"first\nno end")
    with tf.io.TFRecordWriter(str(path / "theirs.tfrecord")) as writer:
        for record in (b"", b"\0\xff", b"x" * 300_000, "é".encode()):
            writer.write(record)
    tf.io.TFRecordWriter(str(path / "empty.tfrecord")).close()
    return path


@pytest.fixture(scope="module")
def ours(programs, run, folder, measured):
    """name -> what our pipeline gave."""
    measured("data: " + run(programs / "write_data", folder).strip())
    reader = tf.train.load_checkpoint(str(folder / "elements"))
    components = collections.Counter(key.rpartition("/")[0] for key in reader.get_variable_to_shape_map())
    found = {}
    for line in (folder / "cases.tsv").read_text().splitlines():
        name, cardinality, count = line.split("\t")
        elements = [[reader.get_tensor(f"{name}/{k}/{i}") for i in range(components[f"{name}/{k}"])] for k in range(int(count))]
        found[name] = Case(int(cardinality), elements)
    return found


def of_tensorflow(dataset):
    elements = [[np.asarray(part) for part in tf.nest.flatten(element)] for element in dataset.as_numpy_iterator()]
    return Case(int(dataset.cardinality()), elements)


def difference(ours, theirs):
    """The reason why two cases are not the same, or nothing."""
    if len(ours.elements) != len(theirs.elements):
        return f"{len(ours.elements)} elements are not {len(theirs.elements)}"
    for number, (a, b) in enumerate(zip(ours.elements, theirs.elements)):
        if [(x.dtype, x.shape) for x in map(np.asarray, a)] != [(x.dtype, x.shape) for x in b] or not all(map(np.array_equal, a, b)):
            return f"element {number}: {a} is not {b}"
    known = tf.data.UNKNOWN_CARDINALITY if ours.cardinality != len(ours.elements) else ours.cardinality
    if theirs.cardinality not in (ours.cardinality, tf.data.UNKNOWN_CARDINALITY) or ours.cardinality != known:
        return f"cardinality {ours.cardinality} is not {theirs.cardinality} of {len(theirs.elements)}"
    return None


def test_every_function_has_a_case(ours, folder):
    headers = pathlib.Path(os.environ["TRAINHOOK_SOURCE"], "include/trainhook/data")
    text = (headers / "dataset.hpp").read_text() + (headers / "file_sources.hpp").read_text()
    functions = set(re.findall(r"\b(?:static|inline|nodiscard\]\]|TRAINHOOK_DECL) Dataset (\w+)\(", text))
    assert len(functions) >= 20, "the functions were not found"
    assert {name.split(".")[0] for name in ours} == functions
    assert ours.keys() == {name for name, _ in itertools.chain(sources(folder), stages(), shuffled())}


def test_elements_are_those_of_tensorflow_in_the_same_order(ours, folder, measured):
    failures, count = [], collections.Counter()
    for name, dataset in itertools.chain(sources(folder), stages()):
        theirs = of_tensorflow(dataset)
        count["pipelines"] += 1
        count["elements"] += len(theirs.elements)
        if problem := difference(ours[name], theirs):
            failures.append(f"{name}: {problem}")
    # TensorFlow drops every carriage return, not only those that end a line.
    assert failures.pop(0) == "text_line_dataset.inner: element 0: [b't\\rwo'] is not [array(b'two', dtype='|S3')]"
    assert not failures, f"{len(failures)} of {count['pipelines']} differ:\n" + "\n".join(failures)
    functions = {name.split(".")[0] for name in ours}
    measured(f"data: {len(functions)} functions, {count['pipelines']} pipelines, {count['elements']} elements are tf.data's")


def assert_shuffled(case, name):
    """Every epoch is whole and within the buffer's reach; another order in each unless it has to be the same."""
    kind, _, size = name.rpartition(".")[2].rpartition("_")
    buffer, values = int(size), [int(part) for (part,) in case.elements]
    everything = list(range(SHUFFLED))
    assert sorted(values) == sorted(everything * EPOCHS), name
    if kind == "across":
        assert set(values[:buffer]) <= set(np.arange(buffer * 2) % SHUFFLED), name
        return
    epochs = [values[i:i + SHUFFLED] for i in range(0, len(values), SHUFFLED)]
    for epoch in epochs:
        assert sorted(epoch) == everything, name
        assert all(value < place + buffer for place, value in enumerate(epoch)), name
        assert (epoch == everything) == (buffer == 1), name
    orders = {tuple(epoch) for epoch in epochs}
    assert len(orders) == (1 if kind == "same" or buffer == 1 else EPOCHS), name


def test_shuffling_keeps_what_tensorflows_keeps(ours):
    cases = {name: dataset for name, dataset in shuffled() if name != "shuffle.often"}
    assert len(cases) == 16
    for name, dataset in cases.items():
        theirs = of_tensorflow(dataset)
        assert_shuffled(theirs, name)
        assert_shuffled(ours[name], name)
        assert ours[name].cardinality == theirs.cardinality, name


def test_shuffling_sends_elements_where_tensorflow_does_as_often(ours):
    dataset = dict(shuffled())["shuffle.often"]
    counts = []
    for case in (ours["shuffle.often"], of_tensorflow(dataset)):
        ((orders,),) = case.elements
        assert orders.shape == (5000, 20)
        counts.append(np.stack([np.bincount(column, minlength=20) for column in orders.T]))
    share = counts[1] / 5000
    assert np.all((counts[0] > 0) == (counts[1] > 0))
    assert np.all(np.abs(counts[0] - counts[1]) <= 6 * np.sqrt(2 * 5000 * share * (1 - share)) + 12)


def test_tensorflow_reads_our_records(ours, folder):
    sizes = [0, 1, 11, 4096, 200_000]
    expected = [bytes([ord("a") + size % 26]) * size for size in sizes]
    assert list(tf.data.TFRecordDataset(str(folder / "ours.tfrecord")).as_numpy_iterator()) == expected
