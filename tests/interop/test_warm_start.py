# SPDX-License-Identifier: Apache-2.0
"""init_from_checkpoint gives the same variables the same values as TensorFlow's, by name, by scope, from the root and into parts; what cannot
be is refused by both, and each names the tensor and the file."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    prefix = str(tmp_path_factory.mktemp("pretrained") / "model")
    with tf1.Graph().as_default(), tf1.Session() as session:
        for name, shape in (("old/w", [2, 3]), ("old/deep/b", []), ("old/m", [5, 2]), ("w", [2, 3]), ("deep/b", []), ("m", [5, 2])):
            parts = (lambda shape, dtype: [3, 1]) if name == "old/m" else None
            tf1.get_variable(name, shape, initializer=tf1.random_uniform_initializer(), partitioner=parts)
        session.run(tf1.global_variables_initializer())
        return tf1.train.Saver().save(session, prefix, write_meta_graph=False)


def theirs(checkpoint, pairs):
    """The values of the variables of start_warm.cpp."""
    with tf1.Graph().as_default(), tf1.variable_scope("", use_resource=False):
        tf1.get_variable("new/w", [2, 3], initializer=tf1.zeros_initializer())
        tf1.get_variable("new/deep/b", [], initializer=tf1.zeros_initializer())
        tf1.get_variable("new/m", [5, 2], initializer=tf1.zeros_initializer(), partitioner=lambda shape, dtype: [2, 1])
        tf1.get_variable("other", [2, 3], initializer=tf1.zeros_initializer())
        tf1.train.init_from_checkpoint(checkpoint, pairs)
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            return {variable.op.name: session.run(variable) for variable in tf1.global_variables()}


MAPS = [
    [("old/w", "new/w")],
    [("w", "new/w"), ("w", "other"), ("old/deep/b", "new/deep/b")],
    [("old/", "new/")],
    [("/", "new/")],
    [("old/deep/", "new/deep/")],
    [("m", "new/m")],
    [("old/m", "new/m"), ("old/w", "other")],
]
REFUSED = [([("missing", "new/w")], ["missing", "model"]), ([("m", "new/w")], ["new/w", "m"]), ([("old/", "/")], ["old/new/deep/b"]),
           ([("old/w", "missing")], ["old/w"])]


@pytest.mark.parametrize("pairs", MAPS, ids=str)
def test_variables_begin_with_the_same_values(programs, run, pretrained, tmp_path, pairs):
    assert run(programs / "start_warm", pretrained, tmp_path / "ours", *sum(pairs, ())) == ""
    for name, value in theirs(pretrained, pairs).items():
        for form in ("graph", "session"):
            reader = tf.train.load_checkpoint(str(tmp_path / f"ours-{form}"))
            if "/part_" in name:  # 3 rows and 2 of them
                rows = slice(0, 3) if name.endswith("0") else slice(3, 5)
                np.testing.assert_array_equal(reader.get_tensor("new/m")[rows], value, err_msg=name)
            else:
                np.testing.assert_array_equal(reader.get_tensor(name), value, err_msg=name)


@pytest.mark.parametrize("pairs, named", REFUSED, ids=str)
def test_both_refuse_what_cannot_be(programs, run, pretrained, tmp_path, pairs, named):
    with pytest.raises(ValueError):
        theirs(pretrained, pairs)
    said = run(programs / "start_warm", pretrained, tmp_path / "ours", *sum(pairs, ()))
    assert said.startswith("init_from_checkpoint: ") and all(word in said for word in named), said


def test_tensorflow_runs_our_initializers(programs, run, pretrained, tmp_path):
    run(programs / "start_warm", pretrained, tmp_path / "ours", "old/", "new/")
    with tf1.Graph().as_default(), tf1.Session() as session:
        tf1.train.import_meta_graph(str(tmp_path / "ours-graph.meta"))
        session.run(tf1.global_variables_initializer())
        for name, value in theirs(pretrained, [("old/", "new/")]).items():
            np.testing.assert_array_equal(session.run(f"{name}:0"), value, err_msg=name)
