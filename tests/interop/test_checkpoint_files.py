# SPDX-License-Identifier: Apache-2.0
"""Checkpoints both ways: a program reads what TensorFlow wrote (partitioned, sharded, of every dtype, object-based) and writes it again, whole or
cut again, and TensorFlow reads that. The files that the C++ tests read are those that TensorFlow still makes."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.core.util import event_pb2

import make_test_files
from conftest import SOURCE

tf1 = tf.compat.v1
FILES = SOURCE / "tests/data_files"
STITCHED = {"bfloat16", "complex128", "complex64", "double", "float", "int16", "int32", "int64", "int8", "uint8"}  # by TensorFlow


COMPARED = collections.Counter()


@pytest.fixture(scope="module")
def rewrite(programs, run, measured):
    """rewrite(from, to, *words, pieces=1, shard_bytes=0): reads a checkpoint and writes what it held; pieces=0 leaves slices as they are."""

    def start(source, target, *words, pieces=1, shard_bytes=0):
        run(programs / "rewrite_checkpoint", source, target, pieces, shard_bytes, *words)
        COMPARED["checkpoints"] += 1
        return str(target)

    yield start
    measured(f"checkpoints of TensorFlow, read and written again: {COMPARED['checkpoints']}, of which it read {COMPARED['tensors']} tensors and "
             f"{COMPARED['parts']} parts of tensors")


def tensors_of(prefix, without=()):
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if name not in without}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    COMPARED["tensors"] += len(expected)
    for name, tensor in expected.items():
        assert np.asarray(found[name]).dtype == np.asarray(tensor).dtype, name
        assert np.array_equal(found[name], tensor), name


def restored(prefix, name, spec, dtype):
    COMPARED["parts"] += 1
    return tf.raw_ops.RestoreV2(prefix=str(prefix), tensor_names=[name], shape_and_slices=[spec], dtypes=[dtype])[0].numpy()


@pytest.mark.parametrize("name", ["every_dtype", "model.ckpt-3", "partitioned", "sharded", "object_based"])
def test_what_tensorflow_wrote_comes_back_whole(rewrite, tmp_path, name):
    strings = {"strings": np.array([b"a", b"bb", b"ccc"], object)} if name == "sharded" else {}  # which TensorFlow does not join
    assert_same(tensors_of(rewrite(FILES / name, tmp_path / "whole")), {**tensors_of(FILES / name, without=strings), **strings})


@pytest.mark.parametrize("name", ["every_dtype", "model.ckpt-3", "partitioned"])
def test_what_is_written_unchanged_is_the_same_file(rewrite, tmp_path, name):
    rewrite(FILES / name, tmp_path / name, pieces=0)
    for suffix in (".index", ".data-00000-of-00001"):
        assert (tmp_path / (name + suffix)).read_bytes() == (FILES / (name + suffix)).read_bytes(), suffix


def test_an_index_of_many_blocks_is_the_same_file(rewrite, tmp_path):
    names = sorted(f"layer_{number}/block/attention/kernel/of_a_transformer/Adam_1" for number in range(5000))
    tf.raw_ops.SaveV2(prefix=str(tmp_path / "theirs"), tensor_names=names, shape_and_slices=[""] * 5000, tensors=list(range(5000)))
    assert (tmp_path / "theirs.index").stat().st_size > 256 * 1024
    rewrite(tmp_path / "theirs", tmp_path / "ours")
    for suffix in (".index", ".data-00000-of-00001"):
        assert (tmp_path / f"ours{suffix}").read_bytes() == (tmp_path / f"theirs{suffix}").read_bytes()


@pytest.mark.parametrize("pieces", [2, 3, 5])
@pytest.mark.parametrize("shard_bytes", [0, 20])
def test_slices_of_ours_are_read_whole_and_in_part(rewrite, tmp_path, pieces, shard_bytes):
    target = rewrite(FILES / "partitioned", tmp_path / "cut", pieces=pieces, shard_bytes=shard_bytes)
    assert len(list(tmp_path.glob("cut.data-*"))) > 1 or shard_bytes == 0
    expected = tensors_of(FILES / "partitioned")
    assert_same(tensors_of(target), expected)
    rows = expected["rows"]
    for start in range(7):
        for length in range(1, 8 - start):
            assert np.array_equal(restored(target, "rows", f"7 2 {start},{length}:0,2", tf.float32), rows[start:start + length])
    assert np.array_equal(restored(target, "columns", "2 6 0,2:2,3", tf.float32), expected["columns"][:, 2:5])


def test_slices_of_every_dtype_are_read(rewrite, tmp_path):
    target = rewrite(FILES / "every_dtype", tmp_path / "cut", pieces=2)
    expected = tensors_of(FILES / "every_dtype")
    for name, dtype in make_test_files.DTYPES.items():
        if name in STITCHED:
            assert np.array_equal(restored(target, f"dtypes/{name}", "", dtype), expected[f"dtypes/{name}"]), name
        else:
            with pytest.raises(tf.errors.OpError):
                restored(target, f"dtypes/{name}", "", dtype)
        for row in range(2):
            part = restored(target, f"dtypes/{name}", f"2 3 {row},1:0,3", dtype)
            assert np.array_equal(part, expected[f"dtypes/{name}"][row:row + 1]), name
    for row in range(2):
        assert np.array_equal(restored(target, "dtypes/string", f"2 2 {row},1:0,2", tf.string), expected["dtypes/string"][row:row + 1])


@pytest.mark.parametrize("saved,restored_as", [(3, 2), (2, 3), (4, None), (None, 3)])
def test_a_saver_restores_variables_that_were_partitioned_another_way(rewrite, tmp_path, saved, restored_as):
    """TensorFlow saves them one way, we cut them another, and TensorFlow restores them a third."""

    def variable(pieces, value):
        partitioner = tf1.fixed_size_partitioner(pieces) if pieces else None
        return tf1.get_variable("p", initializer=tf.constant(value), partitioner=partitioner)

    value = np.random.default_rng(3).normal(size=(9, 4)).astype(np.float32)
    with tf1.Graph().as_default(), tf1.Session() as session:
        variable(saved, value)
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "first"), write_meta_graph=False)
    target = rewrite(tmp_path / "first", tmp_path / "second", pieces=5, shard_bytes=1)
    assert len(list(tmp_path.glob("second.data-*"))) == 5
    with tf1.Graph().as_default(), tf1.Session() as session:
        whole = tf.convert_to_tensor(variable(restored_as, np.zeros_like(value)))
        tf1.train.Saver().restore(session, target)
        assert np.array_equal(session.run(whole), value)


def test_a_sharded_saver_is_read_and_reads_ours(rewrite, tmp_path):
    def saver():
        values = {}
        for number in range(2):
            with tf.device(f"/cpu:{number}"):
                values[f"v{number}"] = tf1.get_variable(f"v{number}", initializer=tf.constant(np.full([50], number + 1, np.float32)))
                tf1.get_variable(f"p{number}", initializer=tf.constant(make_test_files.counted([6, 2])), partitioner=tf1.fixed_size_partitioner(3))
        return tf1.train.Saver(sharded=True), values

    config = tf1.ConfigProto(device_count={"CPU": 2})
    with tf1.Graph().as_default(), tf1.Session(config=config) as session:
        ours, _ = saver()
        session.run(tf1.global_variables_initializer())
        prefix = ours.save(session, str(tmp_path / "theirs"), write_meta_graph=False)
    assert len(list(tmp_path.glob("theirs*.data-*-of-00002"))) == 2
    target = rewrite(prefix, tmp_path / "ours", pieces=0, shard_bytes=40)
    assert len(list(tmp_path.glob("ours.data-*"))) > 2
    assert_same(tensors_of(target), tensors_of(prefix))
    with tf1.Graph().as_default(), tf1.Session(config=config) as session:
        theirs, values = saver()
        theirs.restore(session, target)
        assert np.array_equal(session.run(values["v1"]), np.full([50], 2, np.float32))


def test_an_object_based_checkpoint_is_read_by_full_names(rewrite, tmp_path):
    """Into a graph of TensorFlow 1 with the same variables and slots."""
    target = rewrite(FILES / "object_based", tmp_path / "named", "names")
    found = tensors_of(target)
    with tf1.Graph().as_default(), tf1.Session() as session:
        step = tf1.train.get_or_create_global_step()
        kernel = tf1.get_variable("dense/kernel", [2, 3])
        bias = tf1.get_variable("dense/bias", [3])
        tf1.train.AdamOptimizer(0.125).minimize(tf.reduce_sum(kernel) + tf.reduce_sum(bias), step)
        names = [variable.op.name for variable in tf1.global_variables()]
        assert sorted(names) == sorted(found)
        for prefix in (target, str(FILES / "object_based")):  # TensorFlow's own way by name, and ours
            tf1.train.Saver().restore(session, prefix)
            values = dict(zip(names, session.run(tf1.global_variables())))
            assert_same(found, values)


def test_an_object_based_checkpoint_written_again_is_restored_as_one(rewrite, tmp_path):
    target = rewrite(FILES / "object_based", tmp_path / "again", pieces=2)
    dense, optimizer, step = make_test_files.Dense(), tf1.train.AdamOptimizer(0.125), tf.Variable(0, dtype=tf.int64)
    tf.train.Checkpoint(model=dense, optimizer=optimizer, step=step).read(target).assert_existing_objects_matched()
    assert step.numpy() == 1
    assert np.array_equal(dense.kernel.numpy(), tensors_of(FILES / "object_based")["model/kernel/.ATTRIBUTES/VARIABLE_VALUE"])


def events(path):
    """Events without what depends on the time, and on the order of maps in graphs."""
    found = []
    for record in tf1.io.tf_record_iterator(str(path)):
        event = event_pb2.Event.FromString(record)
        event.wall_time = 0
        if event.graph_def:
            event.graph_def = str(graph_pb2.GraphDef.FromString(event.graph_def)).encode()
        if event.meta_graph_def:
            event.meta_graph_def = str(meta_graph_pb2.MetaGraphDef.FromString(event.meta_graph_def)).encode()
        found.append(str(event))
    return found


def test_the_files_that_our_tests_read_are_those_that_tensorflow_makes(tmp_path):
    make_test_files.make(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in FILES.iterdir())
    for made in tmp_path.iterdir():
        kept = FILES / made.name
        match made.suffix:
            case ".tfevents":
                assert events(made) == events(kept), made.name
            case ".pb":
                assert graph_pb2.GraphDef.FromString(made.read_bytes()) == graph_pb2.GraphDef.FromString(kept.read_bytes())
            case ".meta":
                assert meta_graph_pb2.MetaGraphDef.FromString(made.read_bytes()) == meta_graph_pb2.MetaGraphDef.FromString(kept.read_bytes())
            case ".pbtxt":
                message = meta_graph_pb2.MetaGraphDef if "meta" in made.name else graph_pb2.GraphDef
                assert text_format.Parse(made.read_text(), message()) == text_format.Parse(kept.read_text(), message())
            case _:
                assert made.read_bytes() == kept.read_bytes(), made.name
