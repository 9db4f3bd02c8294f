# SPDX-License-Identifier: Apache-2.0
"""tf.train.CheckpointManager and ours manage the same checkpoints, each in a directory of its own, and then in turns in one."""

import pathlib

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


def theirs(directory, max_to_keep, saves, number=None):
    """manage_checkpoints.cpp, in TensorFlow."""
    lines = []
    with tf.Graph().as_default(), tf1.Session().as_default() as session:
        w = tf1.get_variable("w", [], tf.float32, tf1.zeros_initializer())
        step = tf1.train.get_or_create_global_step()  # a plain loop of ours saves one, too
        session.run([w.initializer, step.initializer])
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=w, step=step), str(directory), max_to_keep or None)
        if manager.latest_checkpoint and not is_object_based(manager.latest_checkpoint):
            tf1.train.Saver([w, step]).restore(session, manager.latest_checkpoint)
        elif manager.latest_checkpoint:
            manager.checkpoint.restore(manager.latest_checkpoint).assert_existing_objects_matched().run_restore_ops()
        lines.append(f"restored {name_of(manager.latest_checkpoint)}: w {session.run(w):g}")
        for _ in range(saves):
            session.run(w.assign_add(1))
            manager.save(number)
            lines.append("".join(name_of(path) + " " for path in manager.checkpoints))
    return lines


def name_of(path):
    return pathlib.Path(path).name if path else "nothing"


def is_object_based(path):
    return "_CHECKPOINTABLE_OBJECT_GRAPH" in tf.train.load_checkpoint(path).get_variable_to_shape_map()


@pytest.fixture(name="ours")
def fixture_ours(programs, run):
    def start(directory, max_to_keep, saves, number=None):
        numbers = [] if number is None else [number]
        return run(programs / "manage_checkpoints", directory, max_to_keep, saves, *numbers).splitlines()

    return start


def files(directory):
    return sorted(path.name.removesuffix(".data-00000-of-00001") for path in directory.glob("ckpt*.data*"))


def test_both_keep_the_same_checkpoints(ours, tmp_path):
    one, other = tmp_path / "ours", tmp_path / "theirs"
    for max_to_keep, saves in ((0, 4), (3, 0), (3, 1), (2, 3), (0, 2)):
        assert ours(one, max_to_keep, saves) == theirs(other, max_to_keep, saves)
        assert files(one) == files(other)
        states = [tf.train.get_checkpoint_state(str(directory)) for directory in (one, other)]
        assert len({name_of(state.model_checkpoint_path) for state in states}) == 1
        assert [[name_of(path) for path in state.all_model_checkpoint_paths] for state in states][0] == \
            [name_of(path) for path in states[1].all_model_checkpoint_paths]


def test_a_number_saved_again_becomes_the_newest(ours, tmp_path):
    for number in (8, 32, 8, 40):
        assert ours(tmp_path / "ours", 2, 1, number) == theirs(tmp_path / "theirs", 2, 1, number)


def test_each_goes_on_where_the_other_was(ours, tmp_path):
    assert ours(tmp_path, 3, 2) == ["restored nothing: w 0", "ckpt-1 ", "ckpt-1 ckpt-2 "]
    assert theirs(tmp_path, 3, 1, 3) == ["restored ckpt-2: w 2", "ckpt-1 ckpt-2 ckpt-3 "]
    assert ours(tmp_path, 3, 1) == ["restored ckpt-3: w 3", "ckpt-2 ckpt-3 ckpt-4 "]
    assert theirs(tmp_path, 2, 1, 5) == ["restored ckpt-4: w 4", "ckpt-4 ckpt-5 "]
    assert files(tmp_path) == ["ckpt-4", "ckpt-5"]
