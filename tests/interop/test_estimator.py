# SPDX-License-Identifier: Apache-2.0
"""The same Estimator in TensorFlow and here: checkpoints, curves, log lines, metrics and predictions; and each goes on from the other."""

import re

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator

from conftest import read_by_hooks

tf1 = tf.compat.v1


def line():
    x = np.arange(16, dtype=np.float32) / 8
    return tf.data.Dataset.from_tensor_slices((x, x * 2 + 1)).batch(4)


def model(features, labels, mode):
    weight = tf1.get_variable("weight", initializer=tf.constant(0.5), use_resource=False)
    bias = tf1.get_variable("bias", initializer=tf.constant(0.0), use_resource=False)
    prediction = weight * features + bias
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": prediction})
    loss = tf.reduce_mean(tf.math.squared_difference(prediction, labels))
    train = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        with tf.control_dependencies(read_by_hooks()):
            train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss, tf1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, predictions={"y": prediction}, loss=loss, train_op=train,
                                      eval_metric_ops={"error": tf1.metrics.mean_absolute_error(labels, prediction)})


def theirs_in(directory):
    config = tf.estimator.RunConfig(save_summary_steps=2, save_checkpoints_steps=3, log_step_count_steps=4)
    return tf.estimator.Estimator(model, str(directory), config)


def curves(directory):
    """All scalars of a directory: {tag: [(step, value)]}, but for what measures time."""
    events = event_accumulator.EventAccumulator(str(directory), {"scalars": 0})
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)]
            for tag in events.Tags()["scalars"] if tag != "global_step/sec"}


def checkpoints(directory):
    return sorted(path.name for path in directory.glob("*.index"))


def same_curves(ours, theirs):
    assert sorted(ours) == sorted(theirs)
    for tag, points in theirs.items():
        assert [step for step, _ in ours[tag]] == [step for step, _ in points], tag
        np.testing.assert_allclose([value for _, value in ours[tag]], [value for _, value in points], rtol=1e-5, err_msg=tag)


# What both say in the same words; numbers of seconds and of the last digit aside.
SAID = [r"(loss = [0-9.]{5}).*, (step = \d+).*", r"(Saving dict for global step \d+: error = [0-9.]{5}).*", r"(Loss for final step: [0-9.]{5}).*",
        r"(Evaluation \[.*)", r"(Skipping training since max_steps has already saved\.)",
        r"(Could not find trained model in model_dir: ).*(, running initialization to evaluate\.)"]


def said(lines):
    return [" ".join(found.groups()) for text in lines for pattern in SAID if (found := re.fullmatch(pattern, text))]


def ours_said(output):
    return said(text[4:] for text in output.splitlines() if text.startswith("log "))


@pytest.fixture
def ours(programs, run, tmp_path):
    def start(what, directory="ours", *arguments):
        return run(programs / "write_estimator", what, tmp_path / directory, *arguments)

    return start


def test_training_writes_the_same(ours, tmp_path, heard):
    output = ours("train", "ours", 10)
    estimator = theirs_in(tmp_path / "theirs")
    evaluator = tf.estimator.experimental.InMemoryEvaluatorHook(estimator, line, name="memory", every_n_iter=4)
    lines = []
    with heard(lines.append):
        estimator.train(lambda: line().repeat(), max_steps=10, hooks=[evaluator])
    assert checkpoints(tmp_path / "ours") == checkpoints(tmp_path / "theirs")
    same_curves(curves(tmp_path / "ours"), curves(tmp_path / "theirs"))
    same_curves(curves(tmp_path / "ours/eval_memory"), curves(tmp_path / "theirs/eval_memory"))
    # Hooks of one phase log in another order; within each kind the lines are the same.
    assert sorted(ours_said(output)) == sorted(said(lines))
    assert len(ours_said(output)) == 8


def test_evaluations_and_predictions_are_the_same_each_from_the_others_checkpoint(ours, tmp_path):
    ours("train", "ours", 7)
    theirs_in(tmp_path / "theirs").train(lambda: line().repeat(), max_steps=7)
    for trained in ["ours", "theirs"]:
        estimator = theirs_in(tmp_path / trained)
        wanted = estimator.evaluate(line)
        found = dict(text.split() for text in ours("evaluate", trained).splitlines() if not text.startswith("log "))
        assert sorted(found) == sorted(wanted)
        for name, value in wanted.items():
            assert float(found[name]) == pytest.approx(float(value), rel=1e-5), name
        numbers = [float(text) for text in ours("predict", trained).splitlines() if not text.startswith("log ")]
        np.testing.assert_allclose(numbers, [each["y"] for each in estimator.predict(line)], rtol=1e-6)


def test_training_goes_on_from_the_others_checkpoint(ours, tmp_path):
    ours("train", "one", 4)
    theirs_in(tmp_path / "one").train(lambda: line().repeat(), max_steps=8)
    ours("train", "two", 4)
    ours("train", "two", 8)
    theirs_in(tmp_path / "three").train(lambda: line().repeat(), max_steps=4)
    ours("train", "three", 8)
    weights = [theirs_in(tmp_path / name).get_variable_value("weight") for name in ["one", "two", "three"]]
    np.testing.assert_allclose(weights, weights[0], rtol=1e-6)


def test_train_and_evaluate_is_the_same(ours, tmp_path):
    output = ours("both", "ours", 8)
    estimator = theirs_in(tmp_path / "theirs")
    metrics, _ = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(lambda: line().repeat(), max_steps=8),
        tf.estimator.EvalSpec(line, throttle_secs=0, start_delay_secs=0))
    same_curves(curves(tmp_path / "ours/eval"), curves(tmp_path / "theirs/eval"))
    found = dict(text.split() for text in output.splitlines() if not text.startswith("log "))
    assert {name: pytest.approx(float(value), rel=1e-5) for name, value in metrics.items()} == {
        name: float(value) for name, value in found.items()}

    # The exporter keeps the best two by what TensorFlow measured; TensorFlow evaluates the best one.
    by_loss = sorted(curves(tmp_path / "theirs/eval")["loss"], key=lambda point: point[1])
    exported = tf.train.get_checkpoint_state(str(tmp_path / "ours/export/best_exporter")).all_model_checkpoint_paths
    assert [int(path.rsplit("-", 1)[1]) for path in exported] == [by_loss[1][0], by_loss[0][0]]
    assert estimator.evaluate(line, checkpoint_path=exported[-1])["loss"] == pytest.approx(by_loss[0][1], rel=1e-5)


early = tf.estimator.experimental
OFTEN = {"run_every_secs": None, "run_every_steps": 2}


def third_time(lines):
    asked = []

    def ask():
        asked.append(True)
        lines.append(f"asked {len(asked)}")
        return len(asked) == 3

    return ask


STOPS = {
    "higher": lambda estimator, _: early.stop_if_higher_hook(estimator, "error", 0.5, **OFTEN),
    "not_higher": lambda estimator, _: early.stop_if_higher_hook(estimator, "error", 50, **OFTEN),
    "lower": lambda estimator, _: early.stop_if_lower_hook(estimator, "loss", 4.5, **OFTEN),
    "not_lower": lambda estimator, _: early.stop_if_lower_hook(estimator, "loss", 0.01, **OFTEN),
    "too_early": lambda estimator, _: early.stop_if_lower_hook(estimator, "loss", 50, min_steps=4, **OFTEN),
    "no_increase": lambda estimator, _: early.stop_if_no_increase_hook(estimator, "error", 2, **OFTEN),
    "increase": lambda estimator, _: early.stop_if_no_increase_hook(estimator, "error", 3, **OFTEN),
    "no_decrease": lambda estimator, _: early.stop_if_no_decrease_hook(estimator, "loss", 1, **OFTEN),
    "predicate": lambda estimator, lines: early.make_early_stopping_hook(estimator, third_time(lines), **OFTEN),
    "last_step": lambda estimator, _: early.make_stop_at_checkpoint_step_hook(estimator, 7),
}


def reasons(lines):
    """Why training stops. TensorFlow's hook names the step before the run, ours the one after it."""
    why = re.compile(r"(At step \d+, metric .*|No (increase|decrease) in metric .*|Requesting early stopping at global step \d+|asked \d)")
    return [re.sub(r"(?<=value )(\d+\.\d{5})\d*", r"\1", text) for text in lines if why.fullmatch(text)]


@pytest.mark.parametrize("stop", STOPS)
def test_training_stops_early_at_the_same_step_for_the_same_reason(ours, tmp_path, heard, measured, stop):
    output = ours(stop)
    estimator, lines = theirs_in(tmp_path / "theirs"), []
    for step in (1, 2, 3):  # TensorFlow's hook adds a variable, which has to be in the checkpoint
        estimator.train(lambda: line().repeat(), max_steps=step, hooks=[early.make_early_stopping_hook(estimator, lambda: False)])
        estimator.evaluate(line)
    with heard(lines.append):
        estimator.train(lambda: line().repeat(), steps=9, hooks=[STOPS[stop](estimator, lines)])
    assert checkpoints(tmp_path / "ours") == checkpoints(tmp_path / "theirs")
    same_curves(curves(tmp_path / "ours/eval"), curves(tmp_path / "theirs/eval"))
    wanted = [re.sub(r"(?<=global step )\d+", lambda found: str(int(found[0]) + 1), text) for text in reasons(lines)]
    assert reasons(output.replace("log ", "").splitlines()) == wanted
    last = max(int(re.search(r"\d+", name)[0]) for name in checkpoints(tmp_path / "theirs"))
    assert (last < 12) == (stop not in ("not_higher", "not_lower", "too_early", "increase", "no_decrease"))
    measured(f"early stopping, {stop}: at step {last}, with {len(wanted)} log lines of TensorFlow's")
