# SPDX-License-Identifier: Apache-2.0
"""The example `checkpoint`, on checkpoints that TensorFlow wrote; TensorFlow opens what it writes."""

import json
import shutil
import struct
import subprocess

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom_scalar_summary
from tensorboard.plugins.hparams import api as hparams
from tensorboard.plugins.mesh import summary as mesh_summary
from tensorboard.plugins.pr_curve import summary as pr_curve_summary

from conftest import SOURCE

tf1 = tf.compat.v1
FILES = SOURCE / "tests/data_files"


@pytest.fixture(scope="module")
def checkpoint(programs, run):
    """checkpoint("show", prefix, ...): what the command prints."""
    return lambda *words: run(programs / "checkpoint", *words)


def build(values, partitioner=None):
    variables = {name: tf1.get_variable(name, initializer=tf.constant(value)) for name, value in values.items() if name != "parts"}
    tf1.get_variable("parts", initializer=tf.constant(values["parts"]), partitioner=partitioner)
    return variables


def values_of(seed):
    random = np.random.default_rng(seed)
    numbers = np.concatenate([random.normal(size=2000), 10 ** random.uniform(-9, 4, size=2000)])
    values = {dtype: numbers.astype(tf.as_dtype(dtype).as_numpy_dtype) for dtype in ("float32", "float64", "float16", "bfloat16")}
    values["parts"] = random.normal(size=(7, 3)).astype(np.float32)
    values["int64"] = random.integers(-9, 9, size=5)
    values["string"] = np.array([b"seed", str(seed).encode()], object)
    return values


def test_tensorflow_opens_and_restores_an_average(checkpoint, tmp_path):
    written, prefixes = [values_of(seed) for seed in range(3)], []
    for number, values in enumerate(written):
        with tf1.Graph().as_default(), tf1.Session() as session:
            build(values, partitioner=tf1.fixed_size_partitioner(number + 1))
            session.run(tf1.global_variables_initializer())
            prefixes.append(tf1.train.Saver().save(session, str(tmp_path / f"{number}/model.ckpt"), write_meta_graph=False))
    out = str(tmp_path / "mean/model.ckpt")
    checkpoint("average", out, prefixes[0], tmp_path / "1", prefixes[2])  # a directory means its newest

    expected = {name: written[2][name] for name in ("int64", "string")}
    for name in ("float32", "float64", "float16", "bfloat16", "parts"):
        mean = sum(values[name].astype(np.float64) for values in written) / 3
        expected[name] = mean.astype(written[0][name].dtype)
    reader = tf.train.load_checkpoint(out)
    assert reader.get_variable_to_shape_map() == {name: list(value.shape) for name, value in expected.items()}
    for name, value in expected.items():
        assert reader.get_tensor(name).dtype == value.dtype, name
        assert np.array_equal(reader.get_tensor(name), value), name

    with tf1.Graph().as_default(), tf1.Session() as session:
        variables = build(values_of(9), partitioner=tf1.fixed_size_partitioner(2))
        tf1.train.Saver().restore(session, out)
        for name, variable in variables.items():
            assert np.array_equal(session.run(variable), expected[name]), name
        parts = tf1.global_variables("parts")
        assert len(parts) == 2 and np.array_equal(np.concatenate(session.run(parts)), expected["parts"])


@pytest.mark.parametrize("name", ["every_dtype", "model.ckpt-3", "partitioned", "sharded", "object_based"])
def test_what_it_shows_of_a_checkpoint_of_tensorflow(checkpoint, name):
    shown = {tensor["name"]: tensor for tensor in json.loads(checkpoint("show", FILES / name, "--json"))["tensors"]}
    reader = tf.train.load_checkpoint(str(FILES / name))
    assert [(tensor, json.loads(values["shape"])) for tensor, values in shown.items()] == tf.train.list_variables(str(FILES / name))
    for tensor, dtype in reader.get_variable_to_dtype_map().items():
        assert shown[tensor]["dtype"] == dtype.name
        if not dtype.is_floating or shown[tensor]["count"] == 0:
            continue
        value = reader.get_tensor(tensor).astype(np.float64)
        assert (shown[tensor]["min"], shown[tensor]["max"]) == (value.min(), value.max())
        assert shown[tensor]["mean"] == pytest.approx(value.mean(), rel=1e-12)
    checkpoint("verify", FILES / name)
    checkpoint("diff", FILES / name, FILES / name)


@pytest.fixture(scope="module")
def ended(programs):
    """ended("show", prefix, ...): the exit code and what the command prints on both streams."""

    def start(*words):
        done = subprocess.run([str(programs / "checkpoint"), *map(str, words)], capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout + done.stderr

    return start


def test_tensors_that_it_cannot_hold_are_named_as_tensorflow_names_them(checkpoint, ended):
    file = FILES / "other_tensors"
    shown = {tensor["name"]: tensor for tensor in json.loads(checkpoint("show", file, "--json"))["tensors"]}
    reader = tf.train.load_checkpoint(str(file))
    assert {"qint8", "float8_e5m2", "int4", "variant", "deep"} <= shown.keys()
    assert {name: json.loads(values["shape"]) for name, values in shown.items()} == reader.get_variable_to_shape_map()
    assert {name: values["dtype"] for name, values in shown.items()} == {name: dtype.name for name, dtype in reader.get_variable_to_dtype_map().items()}
    assert "1 tensor, 12 B: good; 10 not verified" in checkpoint("verify", file)
    assert checkpoint("show", file, "whole") == "float32[3] [0 1 2]\n"
    assert ended("show", file, "int4") == (2, f"checkpoint: tensor int4 of checkpoint {file} cannot be read: it is int4[2,3], and this library has no tensor of this dtype\n")
    code, text = ended("diff", file, file)
    assert code == 2 and "0 of 11 tensors differ" in text and "not compared: qint8[2,3]" in text


def varint(number):
    return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])


def take_varint(text, at):
    number = shift = 0
    while True:
        number |= (text[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if text[at - 1] < 128:
            return number, at


def masked_crc32c(text):
    crc = 0xffffffff
    for byte in text:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def as_literals(text):
    """Snappy of the poorest kind."""
    pieces = [text[at:at + 60] for at in range(0, len(text), 60)]
    return varint(len(text)) + b"".join(bytes([(len(piece) - 1) << 2]) + piece for piece in pieces)


def packed(table, kind):
    """An index of one data block with its blocks packed, which say that they are of this kind of compression."""
    metaindex, at = take_varint(table, len(table) - 48)
    sizes, at = take_varint(table, at)
    index, at = take_varint(table, at)
    file, handles = b"", []
    for begin, size in ((0, metaindex - 5), (metaindex, sizes)):  # a trailer has 5 bytes
        handles.append(varint(len(file)) + varint(len(stored := as_literals(table[begin:begin + size]))))
        file += stored + bytes([kind]) + struct.pack("<I", masked_crc32c(stored + bytes([kind])))
    key = b"\xff"
    block = as_literals(bytes([0, len(key), len(handles[0])]) + key + handles[0] + struct.pack("<II", 0, 1))
    handles.append(varint(len(file)) + varint(len(block)))
    file += block + bytes([kind]) + struct.pack("<I", masked_crc32c(block + bytes([kind])))
    return file + (handles[1] + handles[2]).ljust(40, b"\0") + table[-8:]


@pytest.mark.parametrize("name", ["every_dtype", "model.ckpt-3", "partitioned", "object_based"])
def test_an_index_that_snappy_packed_is_read_as_tensorflow_reads_it(checkpoint, ended, tmp_path, name):
    shutil.copy(FILES / f"{name}.data-00000-of-00001", tmp_path)
    index = tmp_path / f"{name}.index"
    index.write_bytes(packed((FILES / f"{name}.index").read_bytes(), 1))
    assert tf.train.list_variables(str(tmp_path / name)) == tf.train.list_variables(str(FILES / name))
    checkpoint("verify", tmp_path / name)
    checkpoint("diff", FILES / name, tmp_path / name)

    index.write_bytes(packed((FILES / f"{name}.index").read_bytes(), 2))
    for command in ("show", "verify"):
        code, text = ended(command, tmp_path / name)
        assert code == 2 and "is of a format that is not read here: a block is compressed in way 2 (zstd)" in text
    code, text = ended("list", tmp_path)
    assert code == (2 if name == "model.ckpt-3" else 0)  # it lists names with a step


def test_a_model_that_keras_saved_is_read_or_named(checkpoint, ended, tmp_path):
    model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(2)])
    tf.saved_model.save(model, str(tmp_path / "saved"))
    for path in (tmp_path / "saved", tmp_path / "saved/variables/variables"):
        shown = {tensor["name"]: tensor for tensor in json.loads(checkpoint("show", path, "--json"))["tensors"]}
        assert {json.dumps(list(value.shape)).replace(" ", "") for value in model.get_weights()} <= {tensor["shape"] for tensor in shown.values()}
        checkpoint("verify", path)
    code, text = ended("show", tmp_path / "saved/saved_model.pb")
    assert code == 2 and f"that is the graph of a SavedModel; give the path of its variables, {tmp_path}/saved/variables/variables" in text

    for file in ("model.keras", "model.h5"):
        model.save(str(tmp_path / file))
        code, text = ended("show", tmp_path / file)
        assert code == 2 and "is a file of Keras: load the model in Keras and save it by tf.train.Checkpoint" in text
    tf.train.Checkpoint(model=model).write(str(tmp_path / "way_out"))
    checkpoint("verify", tmp_path / "way_out")


def test_each_kind_of_summary_is_named_as_tensorboard_names_its_dashboard(checkpoint, tmp_path):
    sound = np.zeros([1, 100, 1], np.float32)
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        tf.summary.scalar("loss", 0.5, 1)
        tf.summary.histogram("weights", [1.0, 2.0], 1)
        tf.summary.image("picture", np.zeros([1, 4, 5, 3], np.float32), 1)
        tf.summary.audio("sound", sound, 8000, 1)
        tf.summary.text("note", "hello", 1)
        hparams.hparams({"rate": 0.1})
        hparams.hparams_config(hparams=[hparams.HParam("rate")], metrics=[hparams.Metric("loss")])
    with tf1.Graph().as_default(), tf1.Session() as session, tf1.summary.FileWriter(str(tmp_path)) as writer:
        for summary in (tf1.summary.audio("old_sound", sound, 8000), mesh_summary.op("shape", tf.zeros([1, 3, 3]))):
            writer.add_summary(session.run(summary), 1)
        writer.add_summary(pr_curve_summary.pb("curve", np.array([True, False]), np.array([0.9, 0.2]), num_thresholds=5), 1)
        writer.add_summary(custom_scalar_summary.pb(layout_pb2.Layout()), 0)
    tags = json.loads(checkpoint("events", tmp_path, "--json"))["tags"]
    assert {tag["tag"]: tag["kind"] for tag in tags} == {
        "loss": "scalar", "weights": "histogram", "picture": "image", "note": "text", "sound": "audio", "old_sound/audio/0": "audio",
        "_hparams_/session_start_info": "hparams", "_hparams_/experiment": "hparams", "shape_VERTEX": "mesh", "curve/pr_curves": "pr_curves",
        "custom_scalars__config__": "custom_scalars"}
