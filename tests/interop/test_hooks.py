# SPDX-License-Identifier: Apache-2.0
"""Each stock hook in the same small program here and in TensorFlow: the same log lines, the same events, the same files. test_systems.py
compares those that save, the order of callbacks, and the hooks of the five systems."""

import re

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.training import basic_session_run_hooks
from tensorflow_estimator.python.estimator.hooks import hooks as estimator_hooks

from conftest import read_by_hooks

tf1 = tf.compat.v1
train = tf1.train

# Log lines of hooks, as both have them after `said`; the rest is of the session itself.
FROM_HOOKS = re.compile(r"(w|loss|w_after|w is|global_step/sec|Model diverged|Waiting for global step|Saving timeline).*", re.S)
CHANGED = [
    (r"\(\d+\.\d{3} sec\)", "(T sec)"),
    (r"global_step/sec: .*", "global_step/sec: R"),
    (r"(Model diverged with loss = NaN)[.:].*", r"\1"),  # ours name the tensor
    (r"into '.*/(timeline-\d+.json)'", r"into \1"),
]


def said(lines):
    kept = []
    for line in lines:
        line = re.sub(r"^[IWE] ", "", line)
        if FROM_HOOKS.fullmatch(line) or line.startswith("raised "):
            for pattern, text in CHANGED:
                line = re.sub(pattern, text, line)
            kept.append(line)
    return kept


class Twin:
    """The model of write_hooks.cpp."""

    def __init__(self, directory):
        self.directory, self.lines = str(directory), []
        self.step = train.get_or_create_global_step()
        self.w = tf1.get_variable("w", initializer=[0.0, 0.5], use_resource=True)
        self.x = tf1.placeholder_with_default(1.0, [], "x")
        with tf.control_dependencies([tf1.assign_add(self.w, tf.stack([self.x, 2.0 * self.x])), *read_by_hooks()]):
            self.train_op = tf1.assign_add(self.step, 1).op
        with tf.control_dependencies([self.train_op]):
            self.w_after = tf.identity(self.w.read_value(), name="w_after")
            step = self.step.read_value() if hasattr(self.step, "read_value") else tf.identity(self.step)
            self.loss = tf.math.log(3.5 - tf.cast(step, tf.float32), name="loss")

    def run(self, hooks):
        try:
            with train.MonitoredSession(train.ChiefSessionCreator(checkpoint_dir=self.directory), hooks) as session:
                while not session.should_stop():
                    session.run(self.train_op)
        except (tf.errors.OpError, train.NanLossDuringTrainingError) as error:
            self.lines.append(f"raised {type(error).__name__}")


def stop_at(step):
    return train.StopAtStepHook(last_step=step)


def log(tensors, **options):
    return train.LoggingTensorHook(tensors, **options)


def with_logging(twin):
    twin.run([log({"w": twin.w_after, "loss": twin.loss}, every_n_iter=2), stop_at(7)])


def with_logging_at_end(twin):
    twin.run([log(["w_after:0", "loss"], every_n_iter=3, at_end=True), stop_at(6)])


def with_logging_only_at_end(twin):
    twin.run([log({"w": twin.w}, at_end=True), stop_at(2)])


def with_logging_formatted(twin):
    twin.run([log(["w_after"], every_n_iter=2, formatter=lambda values: f"w is {values['w_after'][1]:g}"), stop_at(4)])


def with_stop_after_steps(twin):
    for _ in range(2):
        twin.run([train.StopAtStepHook(num_steps=3), log(["w_after"], every_n_iter=1), train.CheckpointSaverHook(twin.directory, save_steps=100)])


def with_counter(twin):
    twin.run([train.StepCounterHook(every_n_steps=3, output_dir=twin.directory), stop_at(10)])


def with_nan_fails(twin):
    twin.run([train.NanTensorHook(twin.loss), log(["loss"], every_n_iter=1), stop_at(9)])


def with_nan_stops(twin):
    twin.run([train.NanTensorHook(twin.loss, fail_on_nan_loss=False), log(["loss"], every_n_iter=1), stop_at(9)])


def with_feeds(twin):
    fed = iter(range(1, 100))
    twin.run([train.FeedFnHook(lambda: {twin.x: 0.5 * next(fed)}), log(["w_after"], every_n_iter=1), stop_at(4)])


def with_waiter(twin):
    twin.run([stop_at(5), train.CheckpointSaverHook(twin.directory, save_steps=100)])
    twin.run([train.GlobalStepWaiterHook(4), log(["w_after"], every_n_iter=1), stop_at(7)])


def with_profiler(twin):
    twin.run([train.ProfilerHook(save_steps=3, output_dir=twin.directory), stop_at(8)])


def with_stop_at_checkpoint(twin):
    twin.run([stop_at(5), train.CheckpointSaverHook(twin.directory, save_steps=100)])
    twin.run([estimator_hooks._StopAtCheckpointStepHook(twin.directory, last_step=5), log(["w_after"], every_n_iter=1)])


def with_multi_step(twin):
    length = basic_session_run_hooks.get_or_create_steps_per_run_variable()
    with tf.control_dependencies(read_by_hooks()):
        after = tf1.assign_add(twin.step, tf.cast(length, tf.int64))
    twin.train_op = after.op
    twin.run([basic_session_run_hooks._MultiStepStopAtStepHook(last_step=10, steps_per_run=4), log({"w": tf.identity(after)}, every_n_iter=1)])


def events(folder):
    """(step, what) of summaries and traces."""
    found = []
    for path in sorted(folder.glob("events.*")):
        for event in train.summary_iterator(str(path)):
            found += [(event.step, value.tag) for value in event.summary.value]
            if event.HasField("tagged_run_metadata"):
                found.append((0, event.tagged_run_metadata.tag))  # ours have their step
    return found


def test_a_logged_tensor_looks_as_numpy_prints_it(programs, run, tmp_path, measured):
    random = np.random.default_rng(7)
    floats = [0.1, 1.0, -2.5, 1e-5, 123456.789, 99999992.0, 1e8, 3e16, 1e-300, float("nan"), float("-inf"), float("inf"), -0.0]
    arrays = {}

    def add(value, dtype):
        arrays[f"{len(arrays):04d}"] = np.array(value, dtype)

    for dtype in (np.float32, np.float64, np.float16):
        with np.errstate(over="ignore"):
            for value in floats:
                add(value, dtype)
            for case in ([1, 2.5], floats[:5], floats, [float("nan")] * 2, [float("nan"), 1], [-float("inf"), 0.25], [0, 0], [1e-9, 1], [5e9, 1], [-1e9, 1.5, 0],
                         [[1, 2], [3, 4.125]], [1 / 3, -2 / 3], [1e20, float("nan")], [6e-8, 1e-4], [[[1.0]]]):
                add(case, dtype)
            for _ in range(40):
                add(random.normal(size=random.integers(1, 30)) * 10.0 ** random.integers(-6, 5), dtype)
            add(random.normal(size=(3, 4, 11)), dtype)
            add(random.normal(size=(7, 30)), dtype)
            add(random.normal(size=1001), dtype)
            add(random.normal(size=(40, 30)), dtype)
            add(random.normal(size=(2, 600)), dtype)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        add(np.iinfo(dtype).max, dtype)
        add([np.iinfo(dtype).min, 5, np.iinfo(dtype).max], dtype)
        add(np.arange(100) % 90, dtype)
        add(np.arange(5000).reshape(50, 100) % 120, dtype)
    for value in (True, False, [True, False], [[True, True], [True, True]]):
        add(value, bool)
    for value in (b"", b"text", b"it's", b"'\"", [b"a", b"bc\n\\\t"], "\u00e9".encode()):
        add(value, object)
    for dtype in (np.complex64, np.complex128):
        for value in (1 + 2j, 1 - 2j, 0.5j, 0j, -1.5 + 0j, complex(float("nan"), 1), 1e20 + 1e-9j, [1 + 2j, -0.25 - 3.5j], [1e9 + 1j, 2], [complex(0, float("inf")), 1]):
            add(value, dtype)
    add(np.zeros((0, 3)), np.float32)
    (tmp_path / "ours").mkdir()
    tf.raw_ops.SaveV2(prefix=str(tmp_path / "ours/texts"), tensor_names=list(arrays), shape_and_slices=[""] * len(arrays),
                      tensors=[tf.constant(array) for array in arrays.values()])
    with np.printoptions(suppress=True):
        theirs = "".join("%s = %s\n" % (name, array[()]) for name, array in arrays.items())
    ours = run(programs / "write_hooks", "texts", tmp_path / "ours")
    for mine, expected in zip(ours.splitlines(), theirs.splitlines()):
        assert mine == expected
    assert ours == theirs
    measured(f"logged tensors: {len(arrays)} look as NumPy prints them")


@pytest.mark.parametrize("program", [name.removeprefix("with_") for name in list(globals()) if name.startswith("with_")])
def test_a_stock_hook_logs_and_writes_what_tensorflows_does(programs, run, tmp_path, program, heard, measured):
    ours = said(run(programs / "write_hooks", program, tmp_path / "ours").splitlines())
    with tf1.Graph().as_default():
        twin = Twin(tmp_path / "theirs")
        with heard(twin.lines.append):
            globals()["with_" + program](twin)
    theirs = said("\n".join(twin.lines).splitlines())
    assert ours == theirs
    written = [events(tmp_path / side) for side in ("ours", "theirs")]
    assert written[0] == written[1]
    files = [sorted(path.name for path in (tmp_path / side).glob("*.json")) for side in ("ours", "theirs")]
    assert files[0] == files[1]
    assert theirs or written[1] or files[1]
    measured(f"stock hooks, {program}: {len(theirs)} log lines, {len(written[1])} events and {len(files[1])} files are TensorFlow's")
