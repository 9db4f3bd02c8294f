# SPDX-License-Identifier: Apache-2.0
"""Graphs with functions, as tf.function and tf.cond of TensorFlow 2 write them, give here what they give in TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function as defun

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def control_flow_v2():
    """Ifs instead of Switches."""
    tf1.enable_control_flow_v2()
    yield
    tf1.disable_control_flow_v2()


def calls(x, v):
    """A call in a call, results by the names of outputs, a captured variable."""

    @tf.function
    def best(x):
        values, places = tf.math.top_k(x * v, 2)
        return values, places, tf.split(x, 2, axis=1)[1]

    @tf.function
    def twice(x):
        values, places, half = best(x)
        return best(x + 1.0)[0] + values, places, half

    return twice(x)


def effects(x, v):
    """Assignments take effect, and in order."""

    @tf.function
    def grow(x):
        v.assign_add(tf.reduce_sum(x))
        v.assign(v * 2.0)
        return tf.identity(v)

    first = grow(x)
    with tf.control_dependencies([first]):
        return first, grow(x + first)


def branches(x, v):
    """A branch that is chosen runs alone; branches in branches; a branch that gives its input or a constant."""

    def shrink():
        with tf.control_dependencies([v.assign(v * 0.5)]):
            return x * v

    def inner():
        return tf.cond(tf.reduce_sum(x) > 1e6, lambda: tf.ones([2, 4]), lambda: x - v)

    first = tf.cond(tf.reduce_sum(x) > -1e6, shrink, lambda: x)
    with tf.control_dependencies([first]):
        return first, tf.cond(tf.reduce_sum(x) > 1e6, shrink, inner), tf.cond(x[0, 0] > 100, lambda: x, lambda: tf.fill([2, 4], 7.0))


def gradient(x, v):
    """A gradient is another call, of a function that TensorFlow derived."""

    @tf.function
    def loss(x):
        return tf.reduce_sum(tf.nn.softmax(x * v) * tf.nn.batch_normalization(x, 0.5, 2.0, None, None, 0.001))

    y = loss(x)
    return y, *tf1.gradients(y, [x])


def old(x, v):
    """A function of TensorFlow 1, whose name is the op type."""

    @defun.Defun(tf.float32, tf.float32)
    def add_twice(a, b):
        return a + b + b, a - b

    return add_twice(x, tf.identity(v))


class Model(tf.Module):
    """Variables of one name, which only their places in a list tell apart, and one that nothing reads."""

    def __init__(self):
        super().__init__()
        self.layers = [tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3)), tf.Variable([1.0, 2.0, 3.0]), tf.Variable(0.5)]
        self.unused = tf.Variable(7, dtype=tf.int64, name="counted")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def __call__(self, x):
        w, b, scale = self.layers
        y = tf.matmul(x, w) + b
        return {"y": tf.cond(tf.reduce_sum(y) > 0, lambda: tf.nn.softmax(y) * scale, lambda: -y)}


def test_we_run_a_saved_model_and_save_its_variables(programs, run, deviation, tmp_path):
    model, value = Model(), np.random.default_rng(5).uniform(-2, 2, [2, 4]).astype(np.float32)
    expected = {sign: model(tf.constant(sign * value))["y"].numpy() for sign in (1, -1)}
    tf.saved_model.save(model, str(tmp_path / "model"), signatures={"serving_default": model.__call__})
    for sign in (1, -1):
        folder = tmp_path / f"{sign}"
        folder.mkdir()
        with tf1.Graph().as_default() as files, tf1.Session(graph=files) as session:
            session.run(tf.raw_ops.SaveV2(prefix=str(folder / "feeds"), tensor_names=["serving_default_x:0"], shape_and_slices=[""],
                                          tensors=[tf.constant(sign * value)]))
        run(programs / "run_imported", "--meta", tmp_path / "model/saved_model.pb", "--restore", tmp_path / "model/variables/variables",
            "--feeds", folder / "feeds", "--results", folder / "results", "--save", folder / "saved", "StatefulPartitionedCall:0")
        ours = tf.train.load_checkpoint(str(folder / "results")).get_tensor("StatefulPartitionedCall:0")
        deviation("models", ours, expected[sign])
        np.testing.assert_allclose(ours, expected[sign], rtol=1e-5, atol=1e-5)
    ours, theirs = (tf.train.load_checkpoint(str(tmp_path / path)) for path in ("1/saved", "model/variables/variables"))
    names = set(theirs.get_variable_to_shape_map()) - {"_CHECKPOINTABLE_OBJECT_GRAPH"}
    assert set(ours.get_variable_to_shape_map()) == names
    for name in names:
        np.testing.assert_array_equal(ours.get_tensor(name), theirs.get_tensor(name))


@pytest.mark.parametrize("build", [calls, effects, branches, gradient, old], ids=lambda build: build.__name__)
def test_we_run_functions(programs, run, deviation, tmp_path, build):
    value = np.random.default_rng(5).uniform(-2, 2, [2, 4]).astype(np.float32)
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 4], "x")
        v = tf1.get_variable("v", initializer=3.0, use_resource=True)
        ys = tf.concat([tf.reshape(tf.cast(y, tf.float32), [-1]) for y in build(x, v)], 0, name="ys")  # one run, as it may change the variable
        assert graph.as_graph_def().library.function
        tf1.train.export_meta_graph(str(tmp_path / "functions.meta"))
        with tf1.Session(graph=graph) as session:
            session.run(tf1.global_variables_initializer())
            expected = session.run(ys, {x: value})
    with tf1.Graph().as_default() as files, tf1.Session(graph=files) as session:
        session.run(tf.raw_ops.SaveV2(prefix=str(tmp_path / "feeds"), tensor_names=["x:0"], shape_and_slices=[""], tensors=[tf.constant(value)]))
    run(programs / "run_imported", "--meta", tmp_path / "functions.meta", "--feeds", tmp_path / "feeds", "--results", tmp_path / "results", "ys:0")
    ours = tf.train.load_checkpoint(str(tmp_path / "results")).get_tensor("ys:0")
    deviation("models", ours, expected)
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)
