# SPDX-License-Identifier: Apache-2.0
"""Each side continues what the other one trained, and both get to the same place: in float64 to the same numbers. In float32 some input of a
ReLU is so near zero that rounding decides its sign, and with it which way Adam takes a whole unit; so the numbers are compared after the first
step, and after all of them the loss, which one unit hardly changes."""

import numpy as np
import pytest
import tensorflow as tf

from test_checkpoints import EXPECTED, classifier, fashion_mnist

tf1 = tf.compat.v1
STEPS = 100


@pytest.fixture
def ours(programs, run, tmp_path):
    """ours(dtype, restore, first_step, steps): trains with our program and returns the checkpoint's prefix."""

    def start(dtype, restore=None, first_step=0, steps=STEPS):
        words = [programs / "continue_training", "--dtype", dtype, "--save", tmp_path / "ours", "--first-step", first_step, "--steps", steps]
        run(*words, *(["--restore", restore] if restore else []))
        return str(tmp_path / f"ours-{first_step + steps}")

    return start


@pytest.fixture
def theirs(tmp_path):
    """The same with TensorFlow."""

    def start(dtype, restore=None, first_step=0, steps=STEPS):
        graph, images, labels, train, _, saver = classifier(tf.as_dtype(dtype))
        all_images, all_labels = fashion_mnist("train")
        with graph.as_default():
            init = tf1.global_variables_initializer()
        config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        with tf1.Session(graph=graph, config=config) as session:
            if restore:
                saver.restore(session, restore)
            else:
                session.run(init)
            for step in range(first_step, first_step + steps):
                rows = slice(step * 128, (step + 1) * 128)
                session.run(train, {images: all_images[rows], labels: all_labels[rows]})
            return saver.save(session, str(tmp_path / "theirs"), global_step=first_step + steps)

    return start


def variables(prefix, dtype):
    reader = tf.train.load_checkpoint(prefix)
    values = {name: reader.get_tensor(name) for name in EXPECTED}
    assert {values[name].dtype for name, shape in EXPECTED.items() if shape} == {np.dtype(dtype)}
    return values


def assert_same_variables(actual, expected, tolerance):
    """tolerance: in parts of a variable's largest element."""
    assert actual["global_step"] == expected["global_step"]
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name], value, rtol=0, atol=tolerance * np.abs(value).max(), err_msg=name)


def loss(values):
    """Of the test images."""
    images, labels = fashion_mnist("t10k")
    hidden = np.maximum(images @ values["hidden/kernel"] + values["hidden/bias"], 0)
    logits = hidden @ values["logits/kernel"] + values["logits/bias"]
    logits -= logits.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels], dtype=np.float64)


def assert_both_continue_alike(ours, theirs, dtype, start):
    def both(steps):
        return [variables(train(dtype, start, STEPS, steps), dtype) for train in (ours, theirs)]

    if dtype == "float64":
        assert_same_variables(*both(STEPS), 1e-12)
        return
    assert_same_variables(*both(1), 5e-6)  # a gradient is a sum of 128
    a, b = both(STEPS)
    assert loss(a) == pytest.approx(loss(b), rel=0, abs=5e-4)
    assert loss(b) < loss(variables(start, dtype)) - 0.05  # a hundred times as much


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tensorflow_continues_our_training_as_we_do(ours, theirs, dtype):
    assert_both_continue_alike(ours, theirs, dtype, ours(dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_we_continue_tensorflows_training_as_it_does(ours, theirs, dtype):
    assert_both_continue_alike(ours, theirs, dtype, theirs(dtype))


def test_tensorflow_begins_with_the_same_values_each_time(theirs):
    first, second = [variables(theirs("float32", steps=0), "float32") for _ in range(2)]
    assert_same_variables(first, second, 0)
    assert np.ptp(first["hidden/kernel"]) > 0.1
