# SPDX-License-Identifier: Apache-2.0
"""Streaming metrics, beside tf.compat.v1.metrics on the same batches."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
SIZE = 40


def batches(seed):
    random = np.random.default_rng(seed)
    for _ in range(3):
        labels = random.integers(0, 3, SIZE).astype(np.float32)
        predictions = np.clip(labels / 3 + random.normal(0, 0.2, SIZE), 0, 0.999).astype(np.float32)
        yield labels, predictions, random.choice([0, 0.5, 1, 2.25], SIZE).astype(np.float32)


def theirs(labels, predictions, weights):
    classes, predicted = tf.cast(labels, tf.int64), tf.cast(predictions * 3, tf.int64)
    hit, positive = predictions > 0.5, labels > 0
    metrics = tf1.metrics
    figures = {name: getattr(metrics, name)(predictions, weights=weights) if name == "mean" else
               getattr(metrics, name)(labels, predictions, weights=weights)
               for name in ["mean", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error"]}
    figures["accuracy"] = metrics.accuracy(classes, predicted, weights=weights)
    for name in ["true_positives", "true_negatives", "false_positives", "false_negatives", "precision", "recall"]:
        figures[name] = getattr(metrics, name)(positive, hit, weights=weights)
    figures["auc"] = metrics.auc(positive, predictions, weights=weights)
    figures["auc_pr"] = metrics.auc(positive, predictions, weights=weights, num_thresholds=20, curve="PR")
    iou = metrics.mean_iou(classes, predicted, 3, weights=weights)
    matrix = next(v for v in tf1.local_variables() if "total_confusion_matrix" in v.name)
    with tf.control_dependencies([iou[1]]):
        figures["confusion_matrix"] = matrix.read_value(), matrix.read_value()
    return figures


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_metrics_say_what_tensorflows_say(programs, run, tmp_path, deviation, weighted, seed):
    data = list(batches(seed))
    path = tmp_path / "batches"
    path.write_bytes(b"".join(part.tobytes() for batch in data for part in batch))
    lines = run(programs / "write_metrics", path, SIZE, int(weighted)).splitlines()
    ours = {name: np.array(numbers.split(), float) for name, numbers in (line.split(":", 1) for line in lines)}
    compared = 0
    with tf.Graph().as_default():
        inputs = [tf1.placeholder(tf.float32, [SIZE]) for _ in range(3)]
        figures = theirs(inputs[0], inputs[1], inputs[2] if weighted else None)
        with tf1.Session() as session:
            session.run(tf1.local_variables_initializer())
            for number, batch in enumerate(data):
                feeds = dict(zip(inputs, batch))
                for name, (value, update) in figures.items():
                    for part, tensor in (("update", update), ("value", value)):
                        if name == "confusion_matrix" and part == "value":
                            continue  # reading it would take the batch once more
                        wanted = session.run(tensor, feeds)
                        ours_now = ours[f"{number}/{name}/{part}"]
                        deviation("metrics", ours_now.reshape(wanted.shape).astype(wanted.dtype), wanted)
                        np.testing.assert_allclose(ours_now, np.ravel(wanted), rtol=1e-6, atol=1e-6,
                                                   err_msg=f"{name}, {part} of batch {number}")
                        compared += 1
    assert compared == 3 * (2 * 13 + 1)


def test_metrics_before_the_first_batch_are_zero(programs, run, tmp_path):
    path = tmp_path / "nothing"
    path.write_bytes(b"")
    lines = run(programs / "write_metrics", path, SIZE, 0).splitlines()
    assert len(lines) == 14
    said = {name: set(numbers.split()) for name, numbers in (line.split(":", 1) for line in lines)}
    with tf.Graph().as_default(), tf1.Session() as session:
        value, _ = tf1.metrics.auc(tf1.placeholder(tf.bool, [2]), tf1.placeholder(tf.float32, [2]))
        session.run(tf1.local_variables_initializer())
        assert said.pop("before/auc") == {str(int(session.run(value)))}
    said.pop("before/auc_pr")
    assert all(numbers == {"0"} for numbers in said.values()), said
