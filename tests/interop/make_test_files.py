# SPDX-License-Identifier: Apache-2.0
"""Has TensorFlow write the small files in tests/data_files, which the C++ tests read: make_test_files.py <directory>. A test here makes them
again and compares. Element i of a numeric tensor is i, unless said otherwise, so that a reader knows what to expect."""

import pathlib
import sys

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1

DTYPES = {
    "bfloat16": tf.bfloat16, "complex128": tf.complex128, "complex64": tf.complex64, "double": tf.float64, "float": tf.float32,
    "half": tf.float16, "int16": tf.int16, "int32": tf.int32, "int64": tf.int64, "int8": tf.int8, "uint16": tf.uint16,
    "uint32": tf.uint32, "uint64": tf.uint64, "uint8": tf.uint8,
}
OTHER_DTYPES = {
    "float8_e4m3fn": tf.dtypes.experimental.float8_e4m3fn, "float8_e5m2": tf.dtypes.experimental.float8_e5m2,
    "int4": tf.dtypes.experimental.int4, "qint16": tf.qint16, "qint32": tf.qint32, "qint8": tf.qint8, "quint16": tf.quint16, "quint8": tf.quint8,
}
STRINGS = [b"", b"ab", b"x" * 300, b"\0\n\xff"]


def counted(shape, dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def every_dtype(folder):
    """A TensorFlow 1 Saver, one variable [2,3] of each dtype, further a scalar, an empty one, booleans, strings and a name beyond ASCII."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        for name, dtype in DTYPES.items():
            tf1.Variable(tf.constant(counted([2, 3], dtype.as_numpy_dtype)), name=f"dtypes/{name}")
        tf1.Variable(tf.constant([True, False, True]), name="dtypes/bool")
        tf1.Variable(tf.constant(STRINGS, shape=[2, 2]), name="dtypes/string")
        tf1.Variable(tf.zeros([0, 3]), name="empty")
        tf1.Variable(np.int64(1) << 40, name="scalar")
        named = {variable.op.name: variable for variable in tf1.global_variables()} | {"größe/日本": tf1.Variable(np.float32(0.5))}
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver(named).save(session, str(folder / "every_dtype"), write_meta_graph=False, write_state=False)


def other_tensors(folder):
    """What no tensor of the library holds: [2,3] of each other dtype, a variant, ten dimensions; beside them `whole`, which it does."""
    quantized = {"qint16": tf.int16, "qint32": tf.int32, "qint8": tf.int8, "quint16": tf.uint16, "quint8": tf.uint8}
    tensors = {"deep": tf.reshape(counted([6]), [1, 1, 2, 1, 1, 3, 1, 1, 1, 1]), "whole": tf.constant(counted([3]))}
    tensors["variant"] = tf.raw_ops.EmptyTensorList(element_shape=[2], max_num_elements=3, element_dtype=tf.float32)
    for name, dtype in OTHER_DTYPES.items():
        plain = tf.constant(counted([2, 3]))
        tensors[name] = tf.bitcast(tf.cast(plain, quantized[name]), dtype) if name in quantized else tf.cast(tf.cast(plain, tf.int8), dtype) if name == "int4" else tf.cast(plain, dtype)
    names = sorted(tensors)
    tf.raw_ops.SaveV2(prefix=str(folder / "other_tensors"), tensor_names=names, shape_and_slices=[""] * len(names), tensors=[tensors[name] for name in names])


def model(folder):
    """A linear model with momentum after three steps: a checkpoint with its MetaGraphDef and the state file, the graph as text and binary."""
    with tf1.Graph().as_default() as graph, tf1.Session() as session, tf1.variable_scope("", use_resource=False):
        step = tf1.train.get_or_create_global_step()
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        w = tf1.get_variable("w", initializer=counted([2, 3]))
        b = tf1.get_variable("b", initializer=np.zeros(3, np.float32))
        loss = tf.reduce_sum(tf.matmul(x, w) + b, name="loss")
        tf1.train.MomentumOptimizer(0.25, 0.5).minimize(loss, step)
        train = graph.get_collection(tf1.GraphKeys.TRAIN_OP)[0]
        tf.io.write_graph(graph, str(folder), "graph.pbtxt", as_text=True)
        tf.io.write_graph(graph, str(folder), "graph.pb", as_text=False)
        saver = tf1.train.Saver(save_relative_paths=True)
        session.run(tf1.global_variables_initializer())
        for _ in range(3):
            session.run(train, {x: np.ones([1, 2])})
            saver.save(session, str(folder / "model.ckpt"), global_step=step, write_meta_graph=False)
        for old in range(1, 3):
            for path in folder.glob(f"model.ckpt-{old}.*"):
                path.unlink()
        saver.export_meta_graph(str(folder / "model.ckpt-3.meta"), clear_devices=True)
        saver.export_meta_graph(str(folder / "model.meta.pbtxt"), as_text=True, clear_devices=True)


def partitioned(folder):
    """A Saver over one variable [7,2] in three slices and another [2,6] split along its columns; beside them one that is whole."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        for name, shape, axis in (("rows", [7, 2], 0), ("columns", [2, 6], 1)):
            tf1.get_variable(name, initializer=tf.constant(counted(shape)), partitioner=tf1.fixed_size_partitioner(3, axis=axis))
        tf1.get_variable("whole", initializer=counted([3]))
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(folder / "partitioned"), write_meta_graph=False, write_state=False)


def sharded(folder):
    """Two parts merged as a sharded Saver does it; each has a tensor of its own, half of the strings and two corners of a matrix [4,6]."""
    grid, strings = counted([4, 6], np.int32), [b"a", b"bb", b"ccc"]
    parts = [
        [("first", "", counted([2])), ("grid", "4 6 0,2:0,4", grid[:2, :4]), ("grid", "4 6 2,2:4,2", grid[2:, 4:]),
         ("strings", "3 0,1", strings[:1])],
        [("second", "", counted([5], np.int64)), ("grid", "4 6 0,2:4,2", grid[:2, 4:]), ("grid", "4 6 2,2:0,4", grid[2:, :4]),
         ("strings", "3 1,2", strings[1:])],
    ]
    prefixes = []
    for number, part in enumerate(parts):
        prefixes.append(str(folder / f"sharded_temp/part-{number:05d}-of-{len(parts):05d}"))
        names, slices, tensors = zip(*part)
        tf.raw_ops.SaveV2(prefix=prefixes[-1], tensor_names=names, shape_and_slices=slices, tensors=[tf.constant(tensor) for tensor in tensors])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes, destination_prefix=str(folder / "sharded"), delete_old_dirs=True)


class Dense(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(counted([2, 3]), name="dense/kernel")
        self.bias = tf.Variable(np.zeros(3, np.float32), name="dense/bias")


def object_based(folder):
    """A tf.train.Checkpoint of a model and its Adam after one step; all gradients were 1."""
    dense, optimizer = Dense(), tf1.train.AdamOptimizer(0.125)
    step = tf.Variable(0, dtype=tf.int64, name="global_step")
    optimizer.apply_gradients([(tf.ones_like(variable), variable) for variable in (dense.kernel, dense.bias)], step)
    tf.train.Checkpoint(model=dense, optimizer=optimizer, step=step).write(str(folder / "object_based"))


def take_events(folder, name):
    """Renames the only event file in a folder to a name without time and host."""
    (path,) = folder.glob("events.out.*")
    path.rename(folder / name)


def summaries():
    """The values that both event files hold."""
    image = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    sound = np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 8, 2)
    return {"scalar": 0.25, "values": np.array([-1, 0, 0.5, 2], np.float32), "image": image, "sound": sound, "text": "hello"}


def events_of_tensorflow_1(folder):
    """A FileWriter: the graph, each kind of summary, session logs and run metadata."""
    values = summaries()
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        tf1.summary.scalar("loss", values["scalar"])
        tf1.summary.histogram("weights", values["values"])
        tf1.summary.image("picture", values["image"], max_outputs=2)
        tf1.summary.audio("sound", values["sound"], 8000)
        tf1.summary.text("note", tf.constant(values["text"]))
        merged = tf1.summary.merge_all()
        writer = tf1.summary.FileWriter(str(folder), graph)
        writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.START), 1)
        for step in (7, 8):
            writer.add_summary(session.run(merged), step)
        metadata = tf1.RunMetadata()
        metadata.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="loss", all_start_micros=1)
        writer.add_run_metadata(metadata, "step_8", 8)
        writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.CHECKPOINT, checkpoint_path="run/model.ckpt"), 8)
        writer.close()
    take_events(folder, "events_1.tfevents")


def events_of_tensorflow_2(folder):
    """A writer of TensorFlow 2: each kind of summary, all of them tensors."""
    values = summaries()
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default(step=7):
        tf.summary.scalar("loss", values["scalar"])
        tf.summary.histogram("weights", values["values"], buckets=3)
        tf.summary.image("picture", values["image"], max_outputs=2)
        tf.summary.audio("sound", values["sound"], 8000)
        tf.summary.text("note", values["text"])
    writer.close()
    take_events(folder, "events_2.tfevents")


def records(folder):
    with tf.io.TFRecordWriter(str(folder / "records.tfrecord")) as writer:
        for record in (b"first", b"", b"x" * 300, bytes(range(256)), b"last"):
            writer.write(record)


def make(folder):
    """Writes all of them into an existing folder."""
    for write in (every_dtype, other_tensors, model, partitioned, sharded, object_based, events_of_tensorflow_1, events_of_tensorflow_2, records):
        tf1.reset_default_graph()
        write(folder)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    for old in target.glob("*"):
        old.unlink()
    make(target)
