# SPDX-License-Identifier: Apache-2.0
"""TensorFlow reads the quickstart's checkpoints, restores them into the same model and reaches the same accuracy."""

import gzip
import pathlib
import re

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def fashion_mnist(split):
    """Images as float32 [n, 784] in 0 to 1 and labels as int64 [n]; split is "train" or "t10k"."""
    with gzip.open(DATA / f"{split}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(DATA / f"{split}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.astype(np.float32) / np.float32(255), labels.astype(np.int64)


def classifier(dtype=tf.float32):
    """The quickstart's model, built by TensorFlow in a graph of its own. Its initial values are the same each time: each initializer needs a
    seed, as the graph's does not reach those that tf.layers makes where none is given."""
    graph = tf1.Graph()
    with graph.as_default():
        tf1.set_random_seed(1)
        hidden_kernel, logits_kernel = [tf1.glorot_uniform_initializer(seed) for seed in (2, 3)]
        images = tf1.placeholder(tf.float32, [None, 784])
        labels = tf1.placeholder(tf.int64, [None])
        step = tf1.train.get_or_create_global_step()
        hidden = tf1.layers.dense(tf.cast(images, dtype), 128, activation=tf.nn.relu, kernel_initializer=hidden_kernel, name="hidden")
        logits = tf1.layers.dense(hidden, 10, kernel_initializer=logits_kernel, name="logits")
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train = tf1.train.AdamOptimizer(1e-3).minimize(loss, step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
        saver = tf1.train.Saver()
    return graph, images, labels, train, accuracy, saver


def printed_accuracy(output):
    return float(re.search(r"test accuracy (\d\.\d+) at step", output)[1])


EXPECTED = {
    "beta1_power": [], "beta2_power": [], "global_step": [],
    "hidden/bias": [128], "hidden/bias/Adam": [128], "hidden/bias/Adam_1": [128],
    "hidden/kernel": [784, 128], "hidden/kernel/Adam": [784, 128], "hidden/kernel/Adam_1": [784, 128],
    "logits/bias": [10], "logits/bias/Adam": [10], "logits/bias/Adam_1": [10],
    "logits/kernel": [128, 10], "logits/kernel/Adam": [128, 10], "logits/kernel/Adam_1": [128, 10],
}


def test_load_checkpoint_lists_variables_and_slots(trained):
    reader = tf.train.load_checkpoint(str(trained))
    shapes = reader.get_variable_to_shape_map()
    assert {name: shape for name, shape in shapes.items() if not name.startswith("_trainhook/")} == EXPECTED
    assert reader.get_tensor("global_step") == 600
    for name in shapes:
        reader.get_tensor(name)


def test_latest_checkpoint_names_the_last_step(trained):
    assert tf.train.latest_checkpoint(str(trained)) == str(trained / "model.ckpt-600")
    state = tf.train.get_checkpoint_state(str(trained))
    assert [pathlib.Path(path).name for path in state.all_model_checkpoint_paths] == ["model.ckpt-0", "model.ckpt-200", "model.ckpt-400", "model.ckpt-600"]


def test_input_checkpoints_have_a_state_file_of_their_own(trained):
    assert tf.train.latest_checkpoint(str(trained), "checkpoint_input") == str(trained / "input.ckpt-600")
    names = tf.train.load_checkpoint(str(trained / "input.ckpt-600")).get_variable_to_dtype_map()
    assert names == {"batches-state": tf.string}


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_saver_restores_into_the_same_model_and_reaches_our_accuracy(quickstart, tmp_path, mode):
    folder = tmp_path / "model"
    output = quickstart(folder, "--steps", 300, "--seed", 5, *(["--sync"] if mode == "sync" else []))
    graph, images, labels, _, accuracy, saver = classifier()
    test_images, test_labels = fashion_mnist("t10k")
    with tf1.Session(graph=graph) as session:
        saver.restore(session, tf.train.latest_checkpoint(str(folder)))
        value = session.run(accuracy, {images: test_images, labels: test_labels})
    assert value == pytest.approx(printed_accuracy(output), abs=1.5e-4)  # one of 10,000 images


def test_import_meta_graph_gives_a_saver_that_restores(trained):
    with tf1.Graph().as_default() as graph:
        saver = tf1.train.import_meta_graph(str(trained / "model.ckpt-600.meta"))
        test_images, test_labels = fashion_mnist("t10k")
        with tf1.Session(graph=graph) as session:
            saver.restore(session, str(trained / "model.ckpt-600"))
            assert session.run("global_step:0") == 600
            assert session.run("accuracy:0", {"images:0": test_images, "labels:0": test_labels}) > 0.8
        assert len(tf1.global_variables()) == len(EXPECTED)
        assert len(tf1.trainable_variables()) == 4
