# SPDX-License-Identifier: Apache-2.0
"""The example `checkpoint`, on checkpoints that TensorFlow wrote; TensorFlow opens what it writes."""

import json

import numpy as np
import pytest
import tensorflow as tf

from conftest import SOURCE

tf1 = tf.compat.v1
FILES = SOURCE / "tests/data_files"


@pytest.fixture(scope="module")
def checkpoint(programs, run):
    """checkpoint("show", prefix, ...): what the command prints."""
    return lambda *words: run(programs / "checkpoint", *words)


def build(values, partitioner=None):
    variables = {name: tf1.get_variable(name, initializer=tf.constant(value)) for name, value in values.items() if name != "parts"}
    tf1.get_variable("parts", initializer=tf.constant(values["parts"]), partitioner=partitioner)
    return variables


def values_of(seed):
    random = np.random.default_rng(seed)
    numbers = np.concatenate([random.normal(size=2000), 10 ** random.uniform(-9, 4, size=2000)])
    values = {dtype: numbers.astype(tf.as_dtype(dtype).as_numpy_dtype) for dtype in ("float32", "float64", "float16", "bfloat16")}
    values["parts"] = random.normal(size=(7, 3)).astype(np.float32)
    values["int64"] = random.integers(-9, 9, size=5)
    values["string"] = np.array([b"seed", str(seed).encode()], object)
    return values


def test_tensorflow_opens_and_restores_an_average(checkpoint, tmp_path):
    written, prefixes = [values_of(seed) for seed in range(3)], []
    for number, values in enumerate(written):
        with tf1.Graph().as_default(), tf1.Session() as session:
            build(values, partitioner=tf1.fixed_size_partitioner(number + 1))
            session.run(tf1.global_variables_initializer())
            prefixes.append(tf1.train.Saver().save(session, str(tmp_path / f"{number}/model.ckpt"), write_meta_graph=False))
    out = str(tmp_path / "mean/model.ckpt")
    checkpoint("average", out, prefixes[0], tmp_path / "1", prefixes[2])  # a directory means its newest

    expected = {name: written[2][name] for name in ("int64", "string")}
    for name in ("float32", "float64", "float16", "bfloat16", "parts"):
        mean = sum(values[name].astype(np.float64) for values in written) / 3
        expected[name] = mean.astype(written[0][name].dtype)
    reader = tf.train.load_checkpoint(out)
    assert reader.get_variable_to_shape_map() == {name: list(value.shape) for name, value in expected.items()}
    for name, value in expected.items():
        assert reader.get_tensor(name).dtype == value.dtype, name
        assert np.array_equal(reader.get_tensor(name), value), name

    with tf1.Graph().as_default(), tf1.Session() as session:
        variables = build(values_of(9), partitioner=tf1.fixed_size_partitioner(2))
        tf1.train.Saver().restore(session, out)
        for name, variable in variables.items():
            assert np.array_equal(session.run(variable), expected[name]), name
        parts = tf1.global_variables("parts")
        assert len(parts) == 2 and np.array_equal(np.concatenate(session.run(parts)), expected["parts"])


@pytest.mark.parametrize("name", ["every_dtype", "model.ckpt-3", "partitioned", "sharded", "object_based"])
def test_what_it_shows_of_a_checkpoint_of_tensorflow(checkpoint, name):
    shown = {tensor["name"]: tensor for tensor in json.loads(checkpoint("show", FILES / name, "--json"))["tensors"]}
    reader = tf.train.load_checkpoint(str(FILES / name))
    assert [(tensor, json.loads(values["shape"])) for tensor, values in shown.items()] == tf.train.list_variables(str(FILES / name))
    for tensor, dtype in reader.get_variable_to_dtype_map().items():
        assert shown[tensor]["dtype"] == dtype.name
        if not dtype.is_floating or shown[tensor]["count"] == 0:
            continue
        value = reader.get_tensor(tensor).astype(np.float64)
        assert (shown[tensor]["min"], shown[tensor]["max"]) == (value.min(), value.max())
        assert shown[tensor]["mean"] == pytest.approx(value.mean(), rel=1e-12)
    checkpoint("verify", FILES / name)
    checkpoint("diff", FILES / name, FILES / name)
