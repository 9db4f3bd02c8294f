# SPDX-License-Identifier: Apache-2.0
"""The five systems side by side: the same small programs here and in TensorFlow call hooks and listeners in the same order, log the same
lines, write the same summaries and the same checkpoints. What differs is listed in each test, under its S number in
.github/tensorflow-differences.md: `-` only TensorFlow does, `+` only we do."""

import difflib
import pathlib
import re
import threading
import types

import pytest
import tensorflow as tf
from tensorflow.python.tpu import async_checkpoint

from conftest import read_by_hooks

tf1 = tf.compat.v1
train = tf1.train
TEXTS = [  # the same said in other words: TensorFlow's, ours, and what is compared
    (r"Saving checkpoints for (\d+) into (.*)\.", r"Saving checkpoints for (\d+) into (.*)\.", r"log saving \1 into \2"),
    (r"Restoring parameters from (.*)", r"Restored (?:the input pipeline from )?(\S*)\..*", r"log restored \1"),
    (r"An OutOfRangeError or StopIteration exception is raised by the code in FinalOpsHook[^$]*", r"FinalOpsHook: the end of input .*",
     "log end of input in final ops"),
]
OURS, THEIRS = "ours", "theirs"


# The twins.


class Hook(train.SessionRunHook):
    """Writes down each call, runs with their number, and does what stands in `act` then."""

    def __init__(self, lines, name):
        self.lines, self.name, self.runs, self.act = lines, name, -1, {}

    def record(self, callback):
        self.lines.append(f"{self.name}.{callback}")
        self.act.get(callback, lambda: None)()

    def begin(self):
        self.record("begin")

    def after_create_session(self, session, coord):
        self.record("after_create_session")

    def before_run(self, run_context):
        self.record(f"before_run {self.runs + 1}")
        self.runs += 1

    def after_run(self, run_context, run_values):
        self.record(f"after_run {self.runs}")

    def end(self, session):
        self.record("end")


class Listener(train.CheckpointSaverListener):
    def __init__(self, lines, name):
        self.lines, self.name, self.stop_after, self.act = lines, name, None, {}

    def record(self, callback):
        self.lines.append(f"{self.name}.{callback}")
        self.act.get(callback, lambda: None)()

    def begin(self):
        self.record("begin")

    def before_save(self, session, global_step_value):
        self.record(f"before_save {global_step_value}")

    def after_save(self, session, global_step_value):
        self.record(f"after_save {global_step_value}")
        return self.stop_after == global_step_value

    def end(self, session, global_step_value):
        self.record(f"end {global_step_value}")


class Twin:
    """The model of write_systems.cpp, and what its programs share."""

    def __init__(self, directory, last_step):
        self.directory, self.last_step, self.lines = str(directory), last_step, []
        self.step_variable = train.get_or_create_global_step()
        self.w = tf1.get_variable("w", [], tf.float32, tf1.zeros_initializer())
        with tf.control_dependencies([tf1.assign_add(self.w, 1.0), *read_by_hooks()]):
            self.train_op = tf1.assign_add(self.step_variable, 1).op
        with tf.control_dependencies([self.train_op]):
            self.w_after = tf.identity(self.w.read_value())
        self.summary = tf1.summary.scalar("weight", self.w_after)

    def recorder(self, name):
        return Hook(self.lines, name)

    def stop(self):
        return train.StopAtStepHook(last_step=self.last_step)

    def saver(self, *listeners):
        return train.CheckpointSaverHook(self.directory, save_steps=2, listeners=list(listeners))

    def session(self, hooks):
        return train.MonitoredSession(train.ChiefSessionCreator(checkpoint_dir=self.directory), hooks)

    def train(self, make_session):
        try:
            with make_session() as session:
                while not session.should_stop():
                    session.run(self.train_op)
        except tf.errors.OpError as error:
            self.lines.append("raised " + type(error).__name__.removesuffix("Error"))

    def show(self, name, value):
        self.lines.append(f"{name} {int(value)}")


def training(twin):
    hooks = [twin.recorder("a"), twin.stop(), twin.recorder("b")]
    twin.train(lambda: train.MonitoredTrainingSession(checkpoint_dir=twin.directory, hooks=hooks, save_checkpoint_steps=2,
                                                      save_checkpoint_secs=None, save_summaries_steps=2, log_step_count_steps=None))


def recovery(twin):
    thrower = twin.recorder("thrower")

    def throw_once():
        thrower.act.clear()
        raise tf.errors.AbortedError(None, None, "preempted")

    thrower.act["before_run 2"] = throw_once
    summary = train.SummarySaverHook(save_steps=100, output_dir=twin.directory, summary_op=twin.summary)
    twin.train(lambda: twin.session([twin.recorder("a"), thrower, twin.recorder("b"), twin.stop(), summary, twin.saver()]))


def failure(twin):
    thrower = twin.recorder("thrower")

    def throw():
        raise tf.errors.InvalidArgumentError(None, None, "broken")

    thrower.act["before_run 2"] = throw
    twin.train(lambda: twin.session([twin.recorder("a"), thrower, twin.recorder("b")]))


def singular(twin):
    thrower = twin.recorder("thrower")

    def throw():
        raise tf.errors.AbortedError(None, None, "preempted")

    thrower.act["before_run 2"] = throw
    hooks = [twin.recorder("a"), thrower, twin.recorder("b"), twin.saver()]
    twin.train(lambda: train.SingularMonitoredSession(hooks, checkpoint_dir=twin.directory))


def closed_twice(twin):
    session = twin.session([twin.recorder("a"), twin.recorder("b")])
    session.run(twin.train_op)
    session.close()
    twin.lines.append("closed")
    with pytest.raises(RuntimeError, match="already closed"):
        session.close()
    twin.lines.append("raised already closed")


def step_function(twin):
    def step(step_context):
        before = step_context.session.run(twin.w)
        twin.show("before", before)
        if before == 2:
            step_context.request_stop()
        step_context.run_with_hooks(twin.train_op)
        twin.show("after", step_context.session.run(twin.w))

    with twin.session([twin.recorder("a"), twin.recorder("b")]) as session:
        while not session.should_stop():
            session.run_step_fn(step)


def summaries(twin):
    twice = tf1.summary.scalar("twice", 2 * twin.w_after)
    hooks = [train.SummarySaverHook(save_steps=2, output_dir=twin.directory, summary_op=[twin.summary, twice]),
             train.CheckpointSaverHook(twin.directory, save_steps=100), twin.stop()]
    twin.train(lambda: twin.session(hooks))


def final_ops(twin):
    x = tf1.placeholder_with_default(0.0, [])
    single, several = train.FinalOpsHook(twin.w), train.FinalOpsHook([twin.w, x])
    named = train.FinalOpsHook({"w": twin.w, "fed": x}, final_ops_feed_dict={x: 7.0})
    twin.train(lambda: twin.session([twin.recorder("a"), single, several, named, twin.stop(), twin.recorder("b")]))
    twin.show("single", single.final_ops_values)
    for value in several.final_ops_values:
        twin.show("list", value)
    for name in ["w", "fed"]:
        twin.show(name, named.final_ops_values[name])


def final_ops_failing(twin):
    iterator = tf1.data.make_initializable_iterator(tf.data.Dataset.range(0))
    tf1.add_to_collection(tf1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    hooks = [twin.recorder("a"), train.FinalOpsHook(iterator.get_next()), twin.stop(), twin.recorder("b")]
    twin.train(lambda: twin.session(hooks))


def checkpoints(twin):
    saver = twin.saver(Listener(twin.lines, "first"), Listener(twin.lines, "second"))
    twin.train(lambda: twin.session([twin.recorder("a"), saver, twin.stop()]))


def stopping_listener(twin):
    stopper = Listener(twin.lines, "stopper")
    stopper.stop_after = 0
    twin.train(lambda: twin.session([twin.recorder("a"), twin.saver(stopper), twin.stop()]))


class GraphThread(threading.Thread):
    """A thread with the graph of the one that made it, as all threads have where eager execution is off."""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.graph = tf1.get_default_graph()

    def run(self):
        with self.graph.as_default():
            super().run()


def async_checkpoints(twin):
    """The save of step 3 is held, in its thread, until the loop has made step 5."""
    listener = Listener(twin.lines, "listener")
    arrived, step_5 = threading.Event(), threading.Event()

    def hold():
        arrived.set()
        assert step_5.wait(300)

    listener.act["before_save 3"] = hold
    hook = async_checkpoint.AsyncCheckpointSaverHook(twin.directory, save_steps=3, listeners=[listener])
    with twin.session([twin.recorder("a"), twin.stop(), hook]) as session:
        hook._save_thread.join()
        step = 0
        while not session.should_stop():
            session.run(twin.train_op)
            step += 1
            if step == 3:
                assert arrived.wait(300)
            if step == 5:
                step_5.set()
            if step not in (3, 4):
                hook._save_thread.join()


def input_pipeline(twin):
    iterator = tf1.data.make_initializable_iterator(tf.data.Dataset.range(10))
    tf1.add_to_collection(tf1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    number = iterator.get_next()
    config = types.SimpleNamespace(num_worker_replicas=1, save_checkpoints_secs=None, save_checkpoints_steps=2)
    estimator = types.SimpleNamespace(model_dir=twin.directory, _config=config)  # all that the hook asks of one
    with twin.session([tf.data.experimental.CheckpointInputPipelineHook(estimator), twin.saver(), twin.stop()]) as session:
        while not session.should_stop():
            twin.lines.append(f"element {session.run([twin.train_op, number])[1]}")


# Both sides.


@pytest.fixture
def both(programs, run, tmp_path, heard):
    """both(program, last step): runs it on both sides, each in its directory, and returns the lines of each: (theirs, ours)."""

    def tidy(lines, directory, which):
        tidied = []
        for line in lines:
            line = line.replace(str(directory), "DIR")
            if not line.startswith("log "):
                tidied.append(line)
            for text in TEXTS:
                if found := re.fullmatch("log " + text[which], line):
                    tidied.append(found.expand(text[2]))
        return tidied

    def start(program, last_step):
        ours = run(programs / "write_systems", program.__name__, tmp_path / OURS, last_step).splitlines()
        with tf1.Graph().as_default():
            twin = Twin(tmp_path / THEIRS, last_step)
            with heard(lambda text: twin.lines.append("log " + text)):
                program(twin)
        return tidy(twin.lines, tmp_path / THEIRS, 0), tidy(ours, tmp_path / OURS, 1)

    return start


def differences(pair):
    theirs, ours = [[str(line) for line in lines] for lines in pair]
    assert theirs and ours
    return [line for line in difflib.ndiff(theirs, ours) if line[0] in "-+"]


def assert_differs_by(pair, *known):
    """known: (S number, line), in the order of the two traces."""
    assert differences(pair) == [line for _, line in known]


def events(folder):
    """What was written since the last call: summaries as (step, tag, value), records of a session as (step, what, path)."""
    found = []
    for path in sorted(folder.glob("events.*")):
        for event in train.summary_iterator(str(path)):
            for value in event.summary.value:
                found.append((event.step, value.tag, value.simple_value))
            if event.HasField("session_log"):
                kind = tf1.SessionLog.SessionStatus.Name(event.session_log.status)
                found.append((event.step, kind, event.session_log.checkpoint_path.replace(str(folder), "DIR")))
        path.unlink()
    return found


def tensors(prefix):
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def names(folder, state_file="checkpoint"):
    """The checkpoints that the state file lists, all of which have their files; the newest is the last."""
    state = train.get_checkpoint_state(str(folder), state_file)
    prefixes = [pathlib.Path(folder, path) for path in state.all_model_checkpoint_paths]
    assert pathlib.Path(folder, state.model_checkpoint_path) == prefixes[-1]
    return [prefix.name for prefix in prefixes]


def with_step(records):
    """Events as they would be without the defect S17: CHECKPOINT records name the checkpoint, not what all of them begin with."""
    return [(step, what, f"{value}-{step}" if what == "CHECKPOINT" else value) for step, what, value in records]


def files(folder, basename):
    return sorted(path.name for path in folder.glob(basename + "*"))


def assert_same_checkpoints(tmp_path):
    """The same names, files and tensors, of which ours hold those of hooks besides, under a name of their own."""
    theirs, ours = tmp_path / THEIRS, tmp_path / OURS
    assert names(theirs) == names(ours)
    assert files(theirs, "model.ckpt") == files(ours, "model.ckpt")
    assert (theirs / "graph.pbtxt").exists() and (ours / "graph.pbtxt").exists()
    for name in names(theirs):
        expected = tensors(theirs / name)
        assert expected.keys() == {"w", "global_step"}
        assert {key: value for key, value in tensors(ours / name).items() if not key.startswith("_trainhook/")} == expected, name
        step = int(name.split("-")[1])
        assert expected == {"w": step, "global_step": step}


# MonitoredSession.


# The factory puts the saver in front of the user's hooks, b among them; ours saves when they are done.
TRAINING_S13 = [
    "- log saving 0 into DIR/model.ckpt",
    "+ log saving 0 into DIR/model.ckpt",
    "- log saving 2 into DIR/model.ckpt",
    "+ log saving 2 into DIR/model.ckpt",
    "- log saving 4 into DIR/model.ckpt",
    "+ log saving 4 into DIR/model.ckpt",
    "- log saving 5 into DIR/model.ckpt",
    "+ log saving 5 into DIR/model.ckpt",
]


def test_training_is_the_same_and_ends_at_once_where_it_is_over(both, tmp_path):
    assert_differs_by(both(training, 5), *[("S13", line) for line in TRAINING_S13])
    assert with_step(events(tmp_path / THEIRS)) == events(tmp_path / OURS)
    assert_same_checkpoints(tmp_path)

    assert_differs_by(
        both(training, 5),
        ("S17", "- log saving 5 into DIR/model.ckpt"),
        ("S16", "- a.before_run 0"),
        ("S16", "- b.before_run 0"),
        ("S16", "- a.after_run 0"),
        ("S16", "- b.after_run 0"),
        ("S16", "- log saving 6 into DIR/model.ckpt"),
    )
    assert names(tmp_path / THEIRS) == names(tmp_path / OURS) + ["model.ckpt-6"]  # S16


def test_recovery_repeats_the_step_with_the_same_callbacks(both, tmp_path):
    assert_differs_by(
        both(recovery, 5),
        ("S6", "+ a.on_run_failed 2: Aborted: preempted"),
        ("S17", "- log saving 2 into DIR/model.ckpt"),
    )
    theirs, ours = with_step(events(tmp_path / THEIRS)), events(tmp_path / OURS)
    assert_differs_by((theirs, ours), ("S17", "- (2, 'CHECKPOINT', 'DIR/model.ckpt-2')"), ("S21", "+ (3, 'START', '')"))
    assert_same_checkpoints(tmp_path)


def test_a_failing_hook_ends_the_session_by_its_error(both):
    assert_differs_by(
        both(failure, 5),
        ("S6", "+ a.on_run_failed 2: InvalidArgument: broken"),
        ("S7", "+ b.abort InvalidArgument: broken"),
        ("S7", "+ thrower.abort InvalidArgument: broken"),
        ("S7", "+ a.abort InvalidArgument: broken"),
    )


def test_a_singular_session_does_not_recover_and_goes_on_from_its_checkpoint(both, tmp_path):
    failed = [
        ("S6", "+ a.on_run_failed 2: Aborted: preempted"),
        ("S7", "+ b.abort Aborted: preempted"),
        ("S7", "+ thrower.abort Aborted: preempted"),
        ("S7", "+ a.abort Aborted: preempted"),
    ]
    assert_differs_by(both(singular, 0), *failed)
    assert_same_checkpoints(tmp_path)
    assert_differs_by(both(singular, 0), ("S17", "- log saving 2 into DIR/model.ckpt"), *failed)
    assert_same_checkpoints(tmp_path)
    assert names(tmp_path / OURS)[-1] == "model.ckpt-4"


def test_closing_ends_every_hook_in_the_same_order(both):
    assert_differs_by(both(closed_twice, 5), ("S8", "- a.end"), ("S8", "- b.end"), ("S8", "- raised already closed"))


def test_a_step_function_runs_with_and_without_hooks_in_the_same_order(both):
    assert_differs_by(both(step_function, 5))


# SummarySaverHook.


def test_summaries_have_the_same_tags_steps_and_values(both, tmp_path):
    assert_differs_by(both(summaries, 5))
    theirs, ours = with_step(events(tmp_path / THEIRS)), events(tmp_path / OURS)
    assert [event for event in ours if event[1] == "twice"] == [(1, "twice", 2), (3, "twice", 6), (5, "twice", 10)]
    assert theirs == ours
    assert_same_checkpoints(tmp_path)


def test_summaries_of_a_resumed_training_begin_with_the_same_record(both, tmp_path):
    for last_step in (5, 9):
        for folder in (OURS, THEIRS):
            for path in (tmp_path / folder).glob("events.*"):
                path.unlink()
        pair = both(summaries, last_step)
    assert_differs_by(pair, ("S17", "- log saving 5 into DIR/model.ckpt"))
    theirs, ours = with_step(events(tmp_path / THEIRS)), events(tmp_path / OURS)
    assert_differs_by(
        (theirs, ours),
        ("S17", "- (5, 'CHECKPOINT', 'DIR/model.ckpt-5')"),
        ("S19", "- (6, 'weight', 6.0)"),
        ("S19", "+ (7, 'weight', 7.0)"),
        ("S19", "- (6, 'twice', 12.0)"),
        ("S19", "+ (7, 'twice', 14.0)"),
        ("S19", "- (8, 'weight', 8.0)"),
        ("S19", "+ (9, 'weight', 9.0)"),
        ("S19", "- (8, 'twice', 16.0)"),
        ("S19", "+ (9, 'twice', 18.0)"),
    )


# FinalOpsHook.


def test_final_ops_have_the_same_values(both):
    pair = both(final_ops, 2)
    assert_differs_by(pair)
    assert pair[1][-5:] == ["single 2", "list 2", "list 0", "w 2", "fed 7"]


def test_a_final_op_at_the_end_of_input_is_the_same_error_after_the_same_warning(both):
    pair = both(final_ops_failing, 2)
    assert_differs_by(pair, ("S25", "+ b.end"))
    assert pair[1][-3:] == ["b.end", "log end of input in final ops", "raised OutOfRange"]


# CheckpointSaverHook and AsyncCheckpointSaverHook.


def test_checkpoints_and_their_listeners_are_the_same(both, tmp_path):
    assert_differs_by(both(checkpoints, 5))
    assert with_step(events(tmp_path / THEIRS)) == events(tmp_path / OURS)
    assert_same_checkpoints(tmp_path)

    assert_differs_by(
        both(checkpoints, 8),
        ("S17", "- first.before_save 5"),
        ("S17", "- second.before_save 5"),
        ("S17", "- log saving 5 into DIR/model.ckpt"),
        ("S17", "- first.after_save 5"),
        ("S17", "- second.after_save 5"),
    )
    theirs, ours = with_step(events(tmp_path / THEIRS)), events(tmp_path / OURS)
    assert_differs_by((theirs, ours), ("S17", "- (5, 'CHECKPOINT', 'DIR/model.ckpt-5')"))
    assert_same_checkpoints(tmp_path)


def test_a_listener_stops_the_training_also_at_the_first_save(both, tmp_path):
    assert_differs_by(
        both(stopping_listener, 2),
        ("S17", "- a.before_run 0"),
        ("S17", "- a.after_run 0"),
        ("S17", "- a.before_run 1"),
        ("S17", "- a.after_run 1"),
        ("S17", "- stopper.before_save 2"),
        ("S17", "- log saving 2 into DIR/model.ckpt"),
        ("S17", "- stopper.after_save 2"),
        ("S17", "- stopper.end 2"),
        ("S17", "+ stopper.end 0"),
    )
    assert names(tmp_path / THEIRS) == names(tmp_path / OURS) + ["model.ckpt-2"]  # S17


# Theirs are called in the thread that writes, ours by the loop, so that after_save waits for its next hook call.
ASYNC_S28 = [
    "- listener.after_save 0",
    "+ listener.after_save 0",
    "+ listener.after_save 3",
    "- listener.after_save 3",
    "- listener.after_save 6",
    "+ listener.after_save 6",
]


def test_asynchronous_checkpoints_have_the_same_names_and_ours_hold_their_step(both, tmp_path, monkeypatch):
    monkeypatch.setattr(async_checkpoint, "threading", types.SimpleNamespace(Thread=GraphThread, Lock=threading.Lock))
    assert_differs_by(both(async_checkpoints, 7), *[("S28", line) for line in ASYNC_S28])
    assert with_step(events(tmp_path / THEIRS)) == events(tmp_path / OURS)
    theirs, ours = tmp_path / THEIRS, tmp_path / OURS
    assert names(theirs) == names(ours) == ["model.ckpt-0", "model.ckpt-3", "model.ckpt-6", "model.ckpt-7"]
    assert files(theirs, "model.ckpt") == files(ours, "model.ckpt")
    for step in (0, 3, 6, 7):
        assert tensors(ours / f"model.ckpt-{step}") == {"w": step, "global_step": step}
        later = 5 if step == 3 else step  # S28: the loop was at step 5 when TensorFlow read the variables
        assert tensors(theirs / f"model.ckpt-{step}") == {"w": later, "global_step": later}


# CheckpointInputPipelineHook.


def test_the_input_pipeline_goes_on_where_it_was(both, tmp_path):
    theirs, ours = tmp_path / THEIRS, tmp_path / OURS
    pair = both(input_pipeline, 3)
    assert [line for line in pair[1] if line.startswith("element")] == ["element 0", "element 1", "element 2"]
    assert_differs_by(
        pair,
        ("S29", "- log saving 0 into DIR/input.ckpt"),  # ours are part of the model's save
        ("S29", "- log saving 2 into DIR/input.ckpt"),
        ("S29", "- log saving 3 into DIR/input.ckpt"),
    )
    only_model = [event for event in with_step(events(theirs)) if "input.ckpt" not in event[2]]  # S29
    assert only_model == events(ours)
    assert_same_checkpoints(tmp_path)
    inputs = names(ours, "checkpoint_input")
    assert names(theirs, "checkpoint_input") == inputs == ["input.ckpt-0", "input.ckpt-2", "input.ckpt-3"]
    without_graph = [name for name in files(theirs, "input.ckpt") if not name.endswith(".meta")]  # S29: one commit, one graph
    assert without_graph == files(ours, "input.ckpt")
    for name in inputs:  # a position is each side's own affair, name and bytes; that they mean the same shows below
        assert tf.train.load_checkpoint(str(theirs / name)).get_variable_to_shape_map().keys() == {"IteratorV2:0_STATE"}
        assert tensors(ours / name).keys() == {"IteratorV2-state"}

    pair = both(input_pipeline, 6)
    assert [line for line in pair[1] if line.startswith("element")] == ["element 3", "element 4", "element 5"]
    assert_differs_by(
        pair,
        ("S17", "- log saving 3 into DIR/model.ckpt"),
        ("S29", "- log saving 4 into DIR/input.ckpt"),  # saved right after the restore, and out of step with the model since
        ("S29", "- log saving 6 into DIR/input.ckpt"),
    )
    assert_same_checkpoints(tmp_path)
    assert names(theirs, "checkpoint_input")[-2:] == ["input.ckpt-4", "input.ckpt-6"]  # S29
    assert names(ours, "checkpoint_input")[-2:] == ["input.ckpt-5", "input.ckpt-6"]


def test_the_input_pipeline_is_restored_to_the_step_of_the_model(both, tmp_path):
    both(input_pipeline, 3)
    for folder in (tmp_path / THEIRS, tmp_path / OURS):  # as if killed between the two saves of step 3
        for path in folder.glob("model.ckpt-3.*"):
            path.unlink()
        paths = [str(folder / "model.ckpt-0"), str(folder / "model.ckpt-2")]
        train.update_checkpoint_state(str(folder), paths[-1], paths)
    theirs, ours = [[line for line in lines if line.startswith("element")] for lines in both(input_pipeline, 5)]
    assert ours == ["element 2", "element 3", "element 4"]
    assert theirs == ["element 3", "element 4", "element 5"]  # S29: the newest position, not that of step 2
