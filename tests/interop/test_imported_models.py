# SPDX-License-Identifier: Apache-2.0
"""Models cross over whole: seven of ours run in TensorFlow, fourteen of TensorFlow's run here, from the same checkpoint to the same outputs, and
trained for 50 steps to the same variables and slots, each optimizer in both directions."""

import subprocess

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

tf1 = tf.compat.v1
STEPS = 50
OURS = ["linear", "layers", "embedding", "convolution", "normalized", "batch_normalized", "averaged"]


def one_thread(graph):
    return tf1.Session(graph=graph, config=tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))


@pytest.fixture
def assert_close(deviation):
    def close(actual, expected, name):
        deviation("models", actual, expected)
        tolerance = 1e-12 if np.asarray(expected).dtype == np.float64 else 1e-5
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance, err_msg=name)

    return close


# What we wrote, run by TensorFlow.


@pytest.fixture(scope="module")
def ours(programs, run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    run(programs / "write_models", folder)
    return folder


def read_all(prefix):
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def load(folder, name, as_text):
    meta = tf1.MetaGraphDef()
    if as_text:
        text_format.Parse((folder / f"{name}.meta.txt").read_text(), meta)
    else:
        meta.ParseFromString((folder / f"{name}.meta").read_bytes())
    with tf1.Graph().as_default() as graph:
        saver = tf1.train.import_meta_graph(meta)
    return graph, saver


@pytest.mark.parametrize("as_text", [False, True], ids=["bytes", "text"])
@pytest.mark.parametrize("name", OURS)
def test_tensorflow_runs_ours(ours, assert_close, name, as_text):
    graph, saver = load(ours, name, as_text)
    feeds, results = read_all(ours / f"{name}-feeds"), read_all(ours / f"{name}-results")
    outputs = graph.get_collection("outputs")
    assert outputs
    with one_thread(graph) as session:
        saver.restore(session, str(ours / f"{name}-model"))
        for output in outputs:
            assert_close(session.run(output, feeds), results[output.name], output.name)


@pytest.mark.parametrize("name", OURS)
def test_tensorflow_trains_ours_as_we_do(ours, assert_close, name):
    graph, saver = load(ours, name, False)
    feeds, results = read_all(ours / f"{name}-feeds"), read_all(ours / f"{name}-results")
    (train,) = graph.get_collection("train")
    with graph.as_default():
        variables = tf1.global_variables()
    with one_thread(graph) as session:
        saver.restore(session, str(ours / f"{name}-model"))
        for _ in range(STEPS):
            session.run(train, feeds)
        for variable in variables:
            assert_close(session.run(variable), results[f"trained/{variable.op.name}"], variable.op.name)


def test_batch_normalization_is_the_layer_of_tensorflow(ours, assert_close):
    feeds, results = read_all(ours / "batch_normalized-feeds"), read_all(ours / "batch_normalized-results")
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 5, 4, 3], "image")
        with tf1.variable_scope("", use_resource=False):
            images = tf1.layers.batch_normalization(x, name="images", momentum=0.8, training=True)
            flat = tf1.layers.flatten(tf.nn.relu(images))
            rows = tf1.layers.batch_normalization(dense(flat, 4, "dense"), name="rows", momentum=0.6, training=True)
        loss = tf.reduce_mean(tf.square(rows - 0.5))
        with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
            train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
        variables = tf1.global_variables()
        with one_thread(graph) as session:
            tf1.train.Saver().restore(session, str(ours / "batch_normalized-model"))
            assert_close(session.run(loss, feeds), results["loss:0"], "loss")
            for _ in range(STEPS):
                session.run(train, feeds)
            for variable in variables:
                assert_close(session.run(variable), results[f"trained/{variable.op.name}"], variable.op.name)


# What TensorFlow wrote, run by us.


def dense(x, units, name, activation=None, dtype=tf.float32):
    with tf1.variable_scope(name):
        kernel = tf1.get_variable("kernel", [x.shape[-1], units], dtype)
        bias = tf1.get_variable("bias", [units], dtype, tf1.zeros_initializer())
    y = tf.nn.bias_add(tf.matmul(x, kernel), bias)
    return activation(y) if activation else y


def linear(feed):
    x, y = feed("x", [None, 5]), feed("y", [None, 1])
    error = dense(x, 1, "out") - y
    loss = tf.reduce_mean(tf.square(error))
    return [error, loss], tf1.train.GradientDescentOptimizer(0.1), loss


def layers(feed):
    h = feed("x", [None, 6])
    for name, activation in [("a", tf.nn.relu), ("b", tf.nn.tanh), ("c", tf.nn.elu), ("d", tf.sigmoid), ("e", tf.nn.softplus)]:
        h = dense(h, 9, name, activation)
    logits = dense(h, 3, "logits")
    labels = feed("labels", [None], tf.int64, 3)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return [tf.nn.softmax(logits), tf.argmax(logits, 1), loss], tf1.train.AdamOptimizer(0.01), loss


def embedding(feed):
    ids = feed("ids", [None, 4], tf.int32, 30)
    table = tf1.get_variable("table", [30, 7])
    words = tf.gather(tf.identity(table), ids)
    mean = tf.reduce_mean(words, axis=1)
    logits = dense(mean, 2, "logits")
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.zeros_like(logits), logits=logits))
    return [mean, logits, loss], tf1.train.GradientDescentOptimizer(0.1), loss  # the table changes row by row


def words(feed):
    ids = feed("ids", [None, 4], tf.int32, 30)
    table = tf1.get_variable("table", [30, 7])
    mean = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), axis=1)
    labels = feed("labels", [None], tf.int64, 3)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=dense(mean, 3, "logits")))
    return [mean, loss], tf1.train.AdamOptimizer(0.01), loss  # rows that occur more than once are summed before they change


def clicked(feed):
    outputs, _, loss = words(feed)
    return outputs, tf1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001), loss


def rated(feed):
    outputs, _, loss = words(feed)
    return outputs, tf1.train.AdadeltaOptimizer(0.5), loss


def convolution(feed):
    x = feed("image", [None, 12, 12, 2])
    filters = tf1.get_variable("filters", [3, 3, 2, 4], initializer=tf1.truncated_normal_initializer(stddev=0.2))
    pooled = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME")), 2, 2, "VALID")
    pooled = tf.nn.avg_pool2d(tf.nn.leaky_relu(pooled), 3, 2, "SAME")
    logits = dense(tf.reshape(pooled, [-1, 36]), 3, "logits")
    labels = feed("labels", [None], tf.int32, 3)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return [pooled, logits, loss], tf1.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True), loss


def orthogonal(feed):
    """Its initial values come from an op that is not known here, Qr; the checkpoint has the values."""
    x = feed("x", [None, 5])
    kernel = tf1.get_variable("kernel", [5, 5], initializer=tf1.orthogonal_initializer())
    y = tf.matmul(x, kernel)
    loss = tf.reduce_mean(tf.square(y - x))
    return [y, loss], tf1.train.GradientDescentOptimizer(0.1), loss


def batch_normalized(feed):
    x = feed("image", [None, 6, 6, 2])
    images = tf1.layers.batch_normalization(x, name="images", momentum=0.8, training=True)
    filters = tf1.get_variable("filters", [3, 3, 2, 2], initializer=tf1.truncated_normal_initializer(stddev=0.3))
    deep = tf.nn.relu(tf.nn.depthwise_conv2d(images, filters, [1, 1, 1, 1], "SAME"))
    flat = tf1.layers.flatten(tf1.image.resize_bilinear(deep, [3, 4]))
    left, right = tf.split(dense(flat, 6, "dense"), 2, axis=1)
    fixed = tf1.layers.batch_normalization(left * tf.math.erf(right), name="rows", training=False)
    loss = tf.reduce_mean(tf.square(fixed - 0.5))
    return [images, fixed, loss], tf1.train.GradientDescentOptimizer(0.1), loss


def branched(feed):
    """As TensorFlow 1 writes tf.cond, with its gradient."""
    tf1.disable_control_flow_v2()
    x = feed("x", [None, 4])
    check = tf1.Assert(tf.reduce_all(x < 2), [x])
    with tf1.control_dependencies([check]):
        h = dense(x, 3, "h")
    mean = tf.reduce_mean(h)
    y = tf1.cond(mean > 0, lambda: tf.square(h), lambda: tf1.cond(mean > -0.1, lambda: h - 1.0, lambda: tf.abs(h) * 2.0))
    loss = tf.reduce_mean(tf.square(tf1.Print(y, [mean], "mean ", first_n=1) - 0.3))
    return [y, loss], tf1.train.GradientDescentOptimizer(0.1), loss


def switched(feed):
    """Branches that read variables; batch normalization that is told by a placeholder whether it trains."""
    tf1.disable_control_flow_v2()
    x, training = feed("x", [None, 4, 5, 3]), feed.truth("training")
    images = tf.nn.relu(tf1.layers.batch_normalization(x, name="images", momentum=0.8, training=training))
    rows = tf1.layers.batch_normalization(dense(tf1.layers.flatten(images), 4, "rows"), name="norm", training=training)
    scale = tf1.get_variable("scale", [4], initializer=tf.constant_initializer([1.0, -1.0, 0.5, 2.0]))
    seen = tf1.get_variable("seen", [], initializer=tf1.zeros_initializer(), trainable=False)
    count = tf1.cond(training, lambda: tf1.assign_add(seen, 1.0), lambda: tf1.assign_add(seen, 0.0))
    tf1.add_to_collection(tf1.GraphKeys.UPDATE_OPS, count)
    y = tf1.cond(training, lambda: tf1.cond(x[0, 0, 0, 0] > 2.0, lambda: rows - scale, lambda: rows * scale), lambda: rows)
    loss = tf.reduce_mean(tf.square(y - 0.5))
    return [images, y, loss], tf1.train.MomentumOptimizer(0.05, 0.9), loss


def normalized(feed):
    x = feed("x", [None, 6], tf.float64)
    mean = tf.reduce_mean(x, axis=0, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=0, keepdims=True)
    rows = tf.concat([(x - mean) * tf.math.rsqrt(variance + 1e-3), tf.clip_by_value(x, -1.0, 1.0)], axis=1)
    score = tf.squeeze(dense(rows, 1, "score", dtype=tf.float64), axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(score > 0.5, tf.float64), logits=score))
    return [rows, score, loss, tf.reduce_max(score)], tf1.train.RMSPropOptimizer(0.01, momentum=0.5), loss


def stacked(feed):
    x = feed("x", [None, 4])
    rows = tf.cast(tf.range(tf.shape(x)[0]), tf.float32)  # by strided slice, range and rank, whose size only a run knows
    x = x[:, ::-1] + 0.01 * tf.expand_dims(rows, 1) * tf.cast(tf.rank(x), tf.float32)
    pair = tf.stack([dense(x, 3, "left", tf.nn.relu6), dense(x, 3, "right", tf.nn.log_softmax)], axis=1)
    turned = tf.transpose(tf.pad(pair, [[0, 0], [1, 0], [0, 2]]), [0, 2, 1])
    part = tf.slice(turned, [0, 1, 0], [-1, 3, 2])
    loss = tf.reduce_sum(tf.abs(part)) + tf.nn.l2_loss(tf.expand_dims(x, 0))
    return [turned, part, loss], tf1.train.AdagradOptimizer(0.01), loss


def partitioned(feed):
    """Two variables in three parts each, by rows and by columns; the slots are in parts, too."""
    x = feed("x", [None, 5])
    kernel = tf1.get_variable("kernel", [5, 4], partitioner=lambda shape, dtype: [3, 1])
    more = tf1.get_variable("more", [4, 7], partitioner=lambda shape, dtype: [1, 3])
    y = tf.matmul(tf.nn.tanh(tf.matmul(x, kernel)), more)
    loss = tf.reduce_mean(tf.square(y - 0.5))
    return [y, loss], tf1.train.AdagradOptimizer(0.1), loss


THEIRS = [linear, layers, embedding, words, clicked, rated, convolution, orthogonal, normalized, batch_normalized, branched, switched, stacked, partitioned]


@pytest.mark.parametrize("resources", [False, True], ids=["references", "resources"])
@pytest.mark.parametrize("as_text", [False, True], ids=["bytes", "text"])
@pytest.mark.parametrize("build", THEIRS, ids=lambda build: build.__name__)
def test_we_run_tensorflows(programs, run, assert_close, tmp_path, build, as_text, resources):
    random = np.random.default_rng(5)
    feeds = {}

    def feed(name, shape, dtype=tf.float32, most=None):
        values = random.uniform(-1, 1, [8] + shape[1:]) if most is None else random.integers(0, most, [8] + shape[1:])
        placeholder = tf1.placeholder(dtype, shape, name)
        feeds[placeholder] = values.astype(dtype.as_numpy_dtype)
        return placeholder

    def truth(name):
        placeholder = tf1.placeholder(tf.bool, [], name)
        feeds[placeholder] = np.asarray(True)
        return placeholder

    feed.truth = truth
    with tf1.Graph().as_default() as graph, tf1.variable_scope("", use_resource=resources):
        tf1.set_random_seed(3)
        step = tf1.train.get_or_create_global_step()
        outputs, optimizer, loss = build(feed)
        with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
            optimizer.minimize(loss, step, name="train")
        saver = tf1.train.Saver()
        variables = tf1.global_variables()
        meta = tmp_path / ("model.meta.txt" if as_text else "model.meta")
        with one_thread(graph) as session:
            session.run(tf1.global_variables_initializer())
            saver.save(session, str(tmp_path / "model"), write_meta_graph=False)
            saver.export_meta_graph(str(meta), as_text=as_text, strip_default_attrs=as_text)
            expected = {output.name: session.run(output, feeds) for output in outputs}
            for _ in range(STEPS):
                session.run(graph.get_operation_by_name("train"), feeds)
            trained = {variable.op.name: session.run(variable) for variable in variables}

    with tf1.Graph().as_default() as files, tf1.Session(graph=files) as session:  # the feeds as a bundle
        constants = [tf.constant(value) for value in feeds.values()]
        save = tf.raw_ops.SaveV2(prefix=str(tmp_path / "feeds"), tensor_names=[key.name for key in feeds],
                                 shape_and_slices=[""] * len(feeds), tensors=constants)
        session.run(save)

    common = [programs / "run_imported", "--meta", meta, "--restore", tmp_path / "model", "--feeds", tmp_path / "feeds"]
    run(*common, "--results", tmp_path / "results", *expected)
    results = read_all(tmp_path / "results")
    for name, value in expected.items():
        assert_close(results[name], value, name)
    run(*common, "--results", tmp_path / "trained", "--train", "train", "--steps", STEPS, "--save", tmp_path / "saved",
        *(f"{name}:0" for name in trained))
    results = read_all(tmp_path / "trained")
    for name, value in trained.items():
        assert_close(results[f"{name}:0"], value, name)

    saved = [(name, shape) for name, shape in tf.train.list_variables(str(tmp_path / "saved")) if not name.startswith("_trainhook/")]
    assert saved == tf.train.list_variables(str(tmp_path / "model"))
    with one_thread(graph) as session:  # what we trained goes back to TensorFlow, by its own saver and by the one that we export
        saver.restore(session, str(tmp_path / "saved"))
        assert_restored(session, variables, results)
    with tf1.Graph().as_default() as exported, one_thread(exported) as session:
        tf1.train.import_meta_graph(str(tmp_path / "saved.meta")).restore(session, str(tmp_path / "saved"))
        assert_restored(session, tf1.global_variables(), results)


def assert_restored(session, variables, results):
    assert variables
    for variable in variables:
        np.testing.assert_array_equal(session.run(variable), results[f"{variable.op.name}:0"], err_msg=variable.op.name)


# The order of reads and writes in one run. What no dependency orders is not asked for: TensorFlow promises nothing there.


def after(*operations):
    return tf.control_dependencies(operations)


def reads_after_writes(v):
    """A reference variable is memory: what takes the value of a read sees what was written since. A resource variable is read when its
    ReadVariableOp runs."""
    early = v.read_value()
    with after(early):
        first = tf1.assign_add(v, [1.0, 2.0])
    with after(first):
        late_use, cached, copied = early * 1.0, v * 2.0, tf.identity(v)
        again = v.read_value()
    copy_use = copied * 1.0
    with after(late_use, cached, copy_use, again):
        second = tf1.assign(v, v * 10.0)
    with after(second):
        third = tf1.scatter_update(v, [0], [7.0])
    with after(third):
        late_copy_use, last = copied * 1.0, tf.reduce_sum(v * [1.0, 3.0])
    return [late_use, cached, copy_use, late_copy_use, last]


def averages_after_training(v):
    tf1.disable_control_flow_v2()
    loss = tf.reduce_sum(v * v)
    train = tf1.train.GradientDescentOptimizer(0.25).minimize(loss)
    average = tf.train.ExponentialMovingAverage(0.5)
    with after(train):
        apply = average.apply([v])
    with after(apply):
        return [average.average(v) + 0.0, v + 0.0]


def branches_after_writes(v):
    tf1.disable_control_flow_v2()
    with after(tf1.assign_add(v, [1.0, 2.0])):
        total = tf.reduce_sum(v)
        return [tf1.cond(total > 3.5, lambda: total * 2.0, lambda: total), total]


@pytest.mark.parametrize("build, resources", [(reads_after_writes, False), (reads_after_writes, True), (branches_after_writes, False),
                                              (branches_after_writes, True), (averages_after_training, False)],
                         ids=lambda value: {False: "references", True: "resources"}.get(value) or value.__name__)
def test_reads_come_in_the_order_of_tensorflow(programs, run, tmp_path, build, resources):
    with tf1.Graph().as_default() as graph, tf1.variable_scope("", use_resource=resources):
        v = tf1.get_variable("v", initializer=tf.constant([1.0, 1.0]))
        fetches = build(v)
        tf1.train.export_meta_graph(str(tmp_path / "order.meta"))
        expected = set()
        for _ in range(10):  # in any order that TensorFlow takes
            with one_thread(graph) as session:
                session.run(tf1.global_variables_initializer())
                expected.add(str([np.asarray(value).tolist() for value in session.run(fetches)]))
    assert len(expected) == 1
    run(programs / "run_imported", "--meta", tmp_path / "order.meta", "--runs", 1, "--results", tmp_path / "results",
        *(output.name for output in fetches))
    results = read_all(tmp_path / "results")
    assert str([results[output.name].tolist() for output in fetches]) in expected


# Queues.


def counted_batches():
    """Batches of the numbers 1, 2, 3, ..., which a queue runner counts."""
    with tf1.Graph().as_default() as graph, tf1.variable_scope("", use_resource=False):
        counter = tf1.get_variable("counter", [], tf.int64, tf1.zeros_initializer())
        batch = tf1.train.batch([tf1.assign_add(counter, 1) + 0, tf.constant("word")], 3, capacity=7, name="batch")
        summaries = tf1.summary.merge_all()
    return graph, batch, summaries


def test_we_run_the_queue_runners_of_tensorflow(programs, run, tmp_path):
    graph, batch, summaries = counted_batches()
    with graph.as_default():
        tf1.train.export_meta_graph(str(tmp_path / "queue.meta"))
        with tf1.train.SingularMonitoredSession() as session:
            expected = [session.run([*batch, summaries]) for _ in range(4)][-1]
    run(programs / "run_imported", "--meta", tmp_path / "queue.meta", "--runs", 4, "--results", tmp_path / "results",
        *(output.name for output in batch), summaries.name)
    results = read_all(tmp_path / "results")
    for output, value in zip(batch, expected):
        np.testing.assert_array_equal(results[output.name], value)
    ours, theirs = [tf1.Summary.FromString(value).value[0].tag for value in (results[summaries.name], expected[-1])]
    assert ours == theirs


def test_a_queue_that_nothing_fills_is_an_error_that_says_so(programs, tmp_path):
    graph, batch, _ = counted_batches()
    with graph.as_default():
        meta = tf1.train.export_meta_graph()
    for name, remains, said in (("whole", True, b"its queue runners were not started"), ("bare", False, b"has no queue runner for it")):
        if not remains:
            meta.collection_def.pop("queue_runners")
        (tmp_path / f"{name}.meta").write_bytes(meta.SerializeToString())
        done = subprocess.run([programs / "run_imported", "--meta", tmp_path / f"{name}.meta", "--results", tmp_path / name, batch[0].name],
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == 1 and said in done.stderr, done.stderr


def test_tensorflow_runs_our_queue_runners(ours):
    graph, _ = load(ours, "queue", False)
    (batch,) = graph.get_collection("outputs")
    with graph.as_default(), tf1.train.SingularMonitoredSession() as session:
        np.testing.assert_array_equal(session.run(batch), [1, 2, 3])
        np.testing.assert_array_equal(session.run(batch), [4, 5, 6])
