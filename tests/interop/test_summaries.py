# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's plugins show of our event files what they show of TensorFlow's: every kind of summary in both encodings, graphs, run metadata,
restarts. Both of its loaders are asked. And our reader finds in TensorFlow's files what is in them."""

import collections
import contextlib

import numpy as np
import pytest
import tensorflow as tf
from tensorboard import context
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom_scalar_summary
from tensorboard.plugins.distribution import distributions_plugin
from tensorboard.plugins.graph import graphs_plugin
from tensorboard.plugins.histogram import histograms_plugin
from tensorboard.plugins.image import images_plugin
from tensorboard.plugins.pr_curve import pr_curves_plugin
from tensorboard.plugins.pr_curve import summary as pr_curve_summary
from tensorboard.plugins.scalar import scalars_plugin
from tensorboard.plugins.text import text_plugin

tf1 = tf.compat.v1
STEPS = (1, 2, 3)
SCALARS = (0.1, 0.0, -1e30)
PICTURES = np.stack([np.arange(18, dtype=np.uint8).reshape(2, 3, 3) * 14, np.full((2, 3, 3), 7, np.uint8)])
CTX = context.RequestContext()


def counted(step):
    """The values of write_summaries.cpp."""
    return {"curve": [0.25 * i * i - 5 * step for i in range(50)], "equal": [2.5] * 3, "none": [], "far": [-1e30, -1.0, 0.0, 1e-15, 3.0, 1e30]}


def write_theirs_old(folder):
    """As the summary ops of TensorFlow 1 encode them."""
    with tf1.Graph().as_default() as graph:
        value, image, note = tf1.placeholder(tf.float32, []), tf1.placeholder(tf.uint8, [2, 2, 3, 3]), tf1.placeholder(tf.string, [])
        numbers = {tag: tf1.placeholder(tf.float64, [None]) for tag in counted(1)}
        summaries = [tf1.summary.scalar("loss", value)]
        summaries += [tf1.summary.histogram(tag, placeholder) for tag, placeholder in numbers.items()]
        summaries += [tf1.summary.image("pictures", image), tf1.summary.text("notes", note)]
        merged = tf1.summary.merge(summaries)
        writer = tf1.summary.FileWriter(str(folder))
    with tf1.Session(graph=graph) as session, contextlib.closing(writer):
        writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.START), 1)
        for step in STEPS:
            feeds = {value: SCALARS[step - 1], image: PICTURES, note: f"step *{step}*"}
            feeds.update({placeholder: counted(step)[tag] for tag, placeholder in numbers.items()})
            writer.add_summary(session.run(merged, feeds), step)
        writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.CHECKPOINT, checkpoint_path="model.ckpt"), STEPS[-1])


def write_theirs_new(folder):
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        for step in STEPS:
            tf.summary.scalar("loss", SCALARS[step - 1], step)
            for tag, values in counted(step).items():
                tf.summary.histogram(tag, np.array(values), step)
            tf.summary.image("pictures", PICTURES, step)
            tf.summary.text("notes", f"step *{step}*", step)
    writer.close()


def write_theirs_events(folder, messages):
    with tf1.Graph().as_default():
        writer = tf1.summary.FileWriter(str(folder))
    writer.add_graph(None, graph_def=messages["graph"])
    writer.add_meta_graph(messages["meta_graph"])
    writer.add_run_metadata(messages["run_metadata"], "step_2", 2)
    writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.START), 1)

    def scalar(step, value):
        writer.add_summary(tf1.Summary(value=[tf1.Summary.Value(tag="loss", simple_value=value)]), step)

    for step in range(1, 6):
        scalar(step, step)
    writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.CHECKPOINT, checkpoint_path="model.ckpt", msg="saved"), 3)
    writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.START), 4)
    for step in range(4, 7):
        scalar(step, 10 * step)
    writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.STOP), 6)
    writer.close()


def make_messages():
    """A graph that ran, and what a traced run of it says."""
    with tf1.Graph().as_default() as graph, tf1.variable_scope("", use_resource=False):
        w = tf1.get_variable("w", [2, 3])
        loss = tf.reduce_sum(tf.matmul(w, w, transpose_b=True), name="loss")
    run_metadata = tf1.RunMetadata()
    with tf1.Session(graph=graph) as session:
        session.run(w.initializer)
        session.run(loss, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=run_metadata)
        meta_graph = tf1.train.export_meta_graph()
    return {"graph": graph.as_graph_def(), "meta_graph": meta_graph, "run_metadata": run_metadata}


@pytest.fixture(scope="module")
def folder(programs, run, tmp_path_factory):
    """`ours` and `theirs`, each with `old`, `new` and `events`; `read` is what our reader finds in theirs."""
    path = tmp_path_factory.mktemp("summaries")
    for name, pixels in zip(("first", "second"), PICTURES):
        (path / f"{name}.png").write_bytes(tf.io.encode_png(pixels).numpy())
    messages = make_messages()
    for name, message in messages.items():
        (path / f"{name}.pb").write_bytes(message.SerializeToString())
    write_theirs_old(path / "theirs/old")
    write_theirs_new(path / "theirs/new")
    write_theirs_events(path / "theirs/events", messages)
    write_theirs_curves(path / "theirs/curves")
    (path / "read").write_text(run(programs / "write_summaries", path))
    return path


# TensorBoard.


def python_provider(folder, _):
    reader = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance=dict.fromkeys(("scalars", "histograms", "images", "text"), 0))
    for side in ("ours", "theirs"):
        reader.AddRunsFromDirectory(str(folder / side), side)
    reader.Reload()
    return data_provider.MultiplexerDataProvider(reader, str(folder))


def server_provider(folder, data_server):
    return data_server(folder, {}, lambda shown: len(shown.list_runs(CTX, experiment_id="")) == 9)


@pytest.fixture(scope="module", params=[python_provider, server_provider])
def views(request, folder, data_server):
    """views(run): dashboard -> tag -> what it shows, as the plugins answer."""
    provider = request.param(folder, data_server)
    made = {kind: kind(base_plugin.TBContext(data_provider=provider, sampling_hints={}, logdir=str(folder))) for kind in (
        scalars_plugin.ScalarsPlugin, histograms_plugin.HistogramsPlugin, distributions_plugin.DistributionsPlugin, images_plugin.ImagesPlugin,
        text_plugin.TextPlugin, graphs_plugin.GraphsPlugin)}
    scalars, histograms, distributions, images, texts, graphs = made.values()

    def image_view(run, tag, samples):
        shown = []
        for sample in range(samples):
            for entry in images._image_response_for_run(CTX, "", run, tag, sample):
                png = images._get_generic_data_individual_image(CTX, entry["query"].partition("=")[2])
                shown.append((entry["step"], sample, tf.io.decode_png(png).numpy().tolist()))
        return shown

    def view(run):
        seen = collections.defaultdict(dict)
        for tag in scalars.index_impl(CTX, "").get(run, {}):
            seen["scalars"][tag] = [(step, value) for _, step, value in scalars.scalars_impl(CTX, tag, run, "", None)[0]]
        for tag in histograms.index_impl(CTX, "").get(run, {}):
            seen["histograms"][tag] = [(step, rows) for _, step, rows in histograms.histograms_impl(CTX, tag, run, "")[0]]
        for tag in distributions.index_impl(CTX, "").get(run, {}):
            seen["distributions"][tag] = [(step, rows) for _, step, rows in distributions.distributions_impl(CTX, tag, run, "")[0]]
        for tag, about in images._index_impl(CTX, "").get(run, {}).items():
            seen["images"][tag] = image_view(run, tag, about["samples"])
        for tag in texts.index_impl(CTX, "").get(run, []):
            seen["text"][tag] = [(event["step"], event["text"]) for event in texts.text_impl(CTX, run, tag, "", True)]
        for tag, about in graphs.info_impl(CTX, "").get(run, {}).get("tags", {}).items():
            seen["run metadata"][tag] = (about, graphs.run_metadata_impl(CTX, "", run, tag))
        if graphs.info_impl(CTX, "").get(run, {}).get("run_graph"):
            seen["graph"][""] = graphs.graph_impl(CTX, run, None, False, "")
        return seen

    return view


SHOWN = {"old": ["scalars", "histograms", "distributions", "images", "text"], "new": ["scalars", "histograms", "distributions", "images", "text"],
         "events": ["scalars", "run metadata", "graph"]}


def assert_close(actual, expected, what):
    """The same structure with the same text, and numbers that differ by rounding at most."""
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), what
        for a, b in zip(actual, expected):
            assert_close(a, b, what)
    elif isinstance(expected, float):
        assert np.isclose(actual, expected, rtol=1e-12, atol=1e-300), what
    else:
        assert actual == expected, what


@pytest.mark.parametrize("part", ["old", "new", "events"])
def test_dashboards_show_what_they_show_of_tensorflows(views, measured, request, part):
    ours, theirs = views(f"ours/{part}"), views(f"theirs/{part}")
    assert sorted(theirs) == sorted(SHOWN[part])
    assert {kind: sorted(tags) for kind, tags in ours.items()} == {kind: sorted(tags) for kind, tags in theirs.items()}
    count = 0
    for kind, tags in theirs.items():
        for tag, expected in tags.items():
            assert_close(ours[kind][tag], expected, f"{kind} {tag}: {ours[kind][tag]} is not {expected}")
            count += len(expected)
    measured(f"summaries, {request.node.callspec.id}: {count} entries on {len(theirs)} dashboards are TensorBoard's of TensorFlow's")


def test_dashboards_show_what_was_written(views):
    for part in ("old", "new"):
        seen = views(f"ours/{part}")
        assert_close([(step, np.float32(value)) for step, value in seen["scalars"]["loss"]], list(zip(STEPS, map(np.float32, SCALARS))), part)
        assert seen["histograms"].keys() == counted(1).keys()
        for tag, values in counted(1).items():
            assert [(step, sum(count for _, _, count in rows)) for step, rows in seen["histograms"][tag]] == [(step, len(values)) for step in STEPS]
        pixels = [picture.tolist() for picture in PICTURES]
        shown = [picture for tag in sorted(seen["images"]) for _, _, picture in seen["images"][tag]]
        assert shown == [pixels[0]] * 3 + [pixels[1]] * 3
        assert seen["text"]["notes"] == [(step, f"<p>step <em>{step}</em></p>") for step in STEPS]
    events = views("ours/events")
    assert events["scalars"]["loss"] == [(1, 1), (2, 2), (3, 3), (4, 40), (5, 50), (6, 60)]
    assert "MatMul" in events["graph"][""][0] and "step_stats" in events["run metadata"]["step_2"][1][0]


# A loop's own memory.


def loop_memory(step):
    """The arrays of write_summaries.cpp."""
    floats = np.arange(24, dtype=np.float32) * np.float32(0.25)
    floats[12:] -= step
    samples = np.arange(20, dtype=np.float32) * np.float32(0.125) - np.float32(1) / np.float32(step)
    return {"bytes": (np.arange(36) * 7 + step).astype(np.uint8).reshape(2, 2, 3, 3), "floats": floats.reshape(4, 3, 2, 1), "samples": samples}


def parts(value):
    """A value with its image as pixels, for no two encoders of PNG write the same bytes."""
    image = value.image
    pixels = tf.io.decode_png(image.encoded_image_string).numpy().tolist() if value.HasField("image") else None
    return value.tag, image.height, image.width, image.colorspace, pixels, value.audio, value.tensor.string_val, value.metadata.plugin_data.plugin_name


def test_images_and_audio_of_a_loop_are_what_tensorflows_ops_write(folder, measured):
    with tf1.Graph().as_default():
        inputs = {"bytes": tf1.placeholder(tf.uint8), "floats": tf1.placeholder(tf.float32), "samples": tf1.placeholder(tf.float32)}
        note = tf1.placeholder(tf.string, [])
        merged = tf1.summary.merge([
            tf1.summary.image("bytes", inputs["bytes"]), tf1.summary.image("floats", inputs["floats"]),
            tf1.summary.image("one", inputs["floats"], max_outputs=1), tf1.summary.audio("mono", tf.reshape(inputs["samples"], [1, -1]), 8000.0),
            tf1.summary.audio("stereo", tf.reshape(inputs["samples"], [2, 5, 2]), 44100.5, max_outputs=1), tf1.summary.text("notes", note)])
        with tf1.Session() as session:
            expected = []
            for step in STEPS:
                feeds = {inputs[name]: array for name, array in loop_memory(step).items()}
                summary = tf1.Summary.FromString(session.run(merged, {note: f"step *{step}*", **feeds}))
                expected += [(step, value) for value in summary.value]
    (path,) = (folder / "ours/loop").glob("events.out.tfevents.*")
    ours = [(event.step, parts(value)) for event in tf1.train.summary_iterator(str(path)) for value in event.summary.value]
    assert ours == [(step, parts(value)) for step, value in expected]
    measured(f"summaries of a loop's own memory: {len(ours)} images, pieces of audio and texts are those of TensorFlow's ops")


# Curves and their layout.


def classified(step):
    """What write_summaries.cpp's classifier says of 97 examples: labels, predictions, weights."""
    i = np.arange(97)
    predictions = ((i * 37 + 11 * step) % 97).astype(np.float32) / np.float32(96)
    return i * i % 7 < 3, predictions, (i % 5).astype(np.float32) * np.float32(0.25)


def theirs_at(step):
    """Summaries as TensorBoard's functions make them; curves with our tags, which appear as they are given."""
    if step == 0:
        chart, margin = layout_pb2.Chart, layout_pb2.MarginChartContent
        yield custom_scalar_summary.pb(layout_pb2.Layout(category=[
            layout_pb2.Category(title="fit", chart=[
                chart(title="loss", multiline=layout_pb2.MultilineChartContent(tag=["loss", "eval/.*"])),
                chart(title="band", margin=margin(series=[margin.Series(value="a", lower="b", upper="c")]))]),
            layout_pb2.Category(title="rest", chart=[chart(title="rate", multiline=layout_pb2.MultilineChartContent(tag=["rate"]))], closed=True)]))
        return
    labels, predictions, weights = classified(step)
    for name, options in (("whole", {}), ("weighted", {"num_thresholds": 11, "weights": weights})):
        summary = pr_curve_summary.pb(name, labels, predictions, **options)
        summary.value[0].tag, summary.value[0].metadata.display_name = name, ""
        yield summary


def write_theirs_curves(folder):
    with tf1.Graph().as_default(), contextlib.closing(tf1.summary.FileWriter(str(folder))) as writer:
        for step in (0, *STEPS):
            for summary in theirs_at(step):
                writer.add_summary(tf1.Summary.FromString(summary.SerializeToString()), step)


def curves_in(folder):
    """Step, tag, values, and the metadata of a tag's first value: TensorFlow's writer leaves out the others."""
    (path,) = folder.glob("events.out.tfevents.*")
    seen = set()
    for event in tf1.train.summary_iterator(str(path)):
        for value in event.summary.value:
            metadata = None if value.tag in seen else value.metadata.SerializeToString()
            seen.add(value.tag)
            yield event.step, value.tag, tf.make_ndarray(value.tensor).tolist(), metadata


def test_precision_recall_curves_and_chart_layouts_are_tensorboards_own(folder, measured):
    ours, theirs = list(curves_in(folder / "ours/curves")), list(curves_in(folder / "theirs/curves"))
    assert len(theirs) == 7
    assert ours == theirs
    measured(f"summaries: {len(ours)} precision-recall curves and layouts are those of TensorBoard's own functions")


def test_the_pr_curves_dashboard_shows_what_it_shows_of_tensorboards_own(folder):
    plugin = pr_curves_plugin.PrCurvesPlugin(base_plugin.TBContext(data_provider=python_provider(folder, None), sampling_hints={}, logdir=str(folder)))
    for tag in ("weighted", "whole"):
        ours, theirs = ([{key: value for key, value in curve.items() if key != "wall_time"} for curve in plugin.pr_curves_impl(CTX, "", [run], tag)[run]]
                        for run in ("ours/curves", "theirs/curves"))
        assert [curve["step"] for curve in theirs] == list(STEPS)
        assert ours == theirs


# Our reader.


def checksum(data):
    return f"{len(data)} {crc32c(data)}"


def crc32c(data):
    """Of the polynomial that TFRecord files use."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def hexadecimal(numbers):
    return [float(number).hex() for number in numbers]


def expected_value(value):
    """What our reader says of a value of TensorFlow's, with numbers in the way of Python."""
    plugin = value.metadata.plugin_data.plugin_name
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return plugin, ["scalar"] + hexadecimal([value.simple_value])
    if kind == "histo":
        h = value.histo
        return plugin, ["histogram"] + hexadecimal([h.min, h.max, h.num, h.sum, h.sum_squares, *h.bucket_limit, *h.bucket])
    if kind == "image":
        return plugin, ["image", str(value.image.height), str(value.image.width), str(value.image.colorspace), str(crc32c(value.image.encoded_image_string))]
    content = tf.make_ndarray(value.tensor)
    if plugin == "scalars":
        return plugin, ["scalar"] + hexadecimal([content])
    if plugin == "histograms":
        none = content[:, 2].sum() == 0
        limits = [np.finfo(np.float64).max, np.finfo(np.float64).min] if none else [content[0, 0], content[-1, 1]]
        return plugin, ["histogram"] + hexadecimal([*limits, content[:, 2].sum(), np.nan, np.nan, *content[:, 1], *content[:, 2]])
    if plugin == "images":
        width, height, *pictures = content
        return plugin, [part for picture in pictures for part in ("image", height.decode(), width.decode(), "0", str(crc32c(picture)))]
    assert plugin in ("text", "")
    return plugin, ["text", *content.item().decode().split()]


def expected_lines(path):
    for event in tf1.train.summary_iterator(str(path)):
        kind = event.WhichOneof("what")
        if kind == "summary":
            for value in event.summary.value:
                yield (str(event.step), value.tag, *expected_value(value))
        elif kind == "session_log":
            yield str(event.step), "session log", f"{event.session_log.status} {event.session_log.checkpoint_path}", []
        elif kind == "tagged_run_metadata":
            log = event.tagged_run_metadata
            yield str(event.step), "run metadata", f"{log.tag} {checksum(log.run_metadata)}", []
        elif kind == "file_version":
            yield "0", "version", event.file_version, []
        else:
            yield str(event.step), {"graph_def": "graph", "meta_graph_def": "meta graph"}[kind], checksum(getattr(event, kind)), []


def in_pythons_way(word):
    return float.fromhex(word).hex() if word.lstrip("-").startswith(("0x", "inf", "nan")) else word


def test_our_reader_finds_what_tensorflow_wrote(folder, measured):
    ours = []
    for line in (folder / "read").read_text().splitlines():
        step, what, about, *values = line.split("\t")
        ours.append((step, what, about, [in_pythons_way(word) for value in values for word in value.split(" ")]))
    theirs = [line for part in ("old", "new", "events") for path in sorted((folder / "theirs" / part).iterdir()) for line in expected_lines(path)]
    assert len(theirs) > 60
    for a, b in zip(ours, theirs):
        assert a == b
    assert len(ours) == len(theirs)
    measured(f"events: {len(theirs)} entries of TensorFlow's files read")
