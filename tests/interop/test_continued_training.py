# SPDX-License-Identifier: Apache-2.0
"""Each side continues what the other one trained, and both get to the same place."""

import numpy as np
import pytest
import tensorflow as tf

from test_checkpoints import EXPECTED, classifier, fashion_mnist

tf1 = tf.compat.v1
STEPS = 100


@pytest.fixture(scope="module")
def ours(programs, run, tmp_path_factory):
    """ours(restore, first_step): trains 100 steps with our program and returns the checkpoint's prefix."""
    folder = tmp_path_factory.mktemp("ours")

    def start(restore=None, first_step=0):
        words = [programs / "continue_training", "--save", folder / "model.ckpt", "--first-step", first_step, "--steps", STEPS]
        run(*words, *(["--restore", restore] if restore else []))
        return str(folder / f"model.ckpt-{first_step + STEPS}")

    return start


def theirs(folder, restore=None, first_step=0):
    """The same with TensorFlow."""
    graph, images, labels, train, _, saver = classifier()
    all_images, all_labels = fashion_mnist("train")
    with graph.as_default():
        init = tf1.global_variables_initializer()
    config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with tf1.Session(graph=graph, config=config) as session:
        if restore:
            saver.restore(session, restore)
        else:
            session.run(init)
        for step in range(first_step, first_step + STEPS):
            rows = slice(step * 128, (step + 1) * 128)
            session.run(train, {images: all_images[rows], labels: all_labels[rows]})
        return saver.save(session, str(folder / "model.ckpt"), global_step=first_step + STEPS)


def assert_same_variables(a, b):
    first, second = tf.train.load_checkpoint(a), tf.train.load_checkpoint(b)
    assert first.get_tensor("global_step") == second.get_tensor("global_step")
    for name in EXPECTED:
        np.testing.assert_allclose(first.get_tensor(name), second.get_tensor(name), rtol=0, atol=1e-5, err_msg=name)


def test_tensorflow_continues_our_training_as_we_do(ours, tmp_path):
    start = ours()
    assert_same_variables(theirs(tmp_path, start, STEPS), ours(start, STEPS))


def test_we_continue_tensorflows_training_as_it_does(ours, tmp_path):
    start = theirs(tmp_path)
    assert_same_variables(ours(start, STEPS), theirs(tmp_path, start, STEPS))
