# SPDX-License-Identifier: Apache-2.0
"""Op types that TensorFlow 1 wrote and later versions replaced: they give here what they give in TensorFlow 2.15, which still runs them."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import gen_data_flow_ops, gen_state_ops

tf1 = tf.compat.v1
raw = tf.raw_ops


class Inputs:
    """Random placeholders; `graph` adds outputs and gradients."""

    def __init__(self):
        self.random = np.random.default_rng(11)
        self.feeds = {}

    def __call__(self, *shape, dtype=tf.float32, low=-2, high=2):
        x = tf1.placeholder(dtype, [None, *shape[1:]] if shape else [])
        values = self.random.uniform(low, high, shape)
        self.feeds[x] = np.asarray(np.round(values) if dtype.is_integer else values, dtype.as_numpy_dtype)
        return x


def with_gradients(ys, xs):
    """The outputs, and gradients of a sum in which each element has another weight."""
    weights = [tf.reshape(tf.cast(tf.range(tf.size(y)), y.dtype) * 0.3 - 1, tf.shape(y)) for y in ys]
    return [*ys, *(tf.convert_to_tensor(grad) for grad in tf1.gradients(ys, xs, grad_ys=weights))]


def concat(feed):
    a, b = feed(2, 3), feed(2, 4)
    return with_gradients([raw.Concat(concat_dim=1, values=[a, b]), raw.Concat(concat_dim=-1, values=[b, a, b])], [a, b])


def gather(feed):
    x = feed(5, 3)
    x.set_shape([5, 3])
    ids = feed(2, 4, dtype=tf.int32, low=0, high=4)
    return with_gradients([raw.Gather(params=x, indices=ids), raw.Gather(params=x, indices=tf.cast(ids, tf.int64), validate_indices=False)], [x])


def pad(feed):
    x = feed(2, 3)
    return with_gradients([raw.PadV2(input=x, paddings=[[1, 0], [2, 3]], constant_values=7.5)], [x])


def list_diff(feed):
    x, y = feed(9, dtype=tf.int64), feed(3, dtype=tf.int64)
    return [*raw.ListDiff(x=x, y=y), *raw.ListDiff(x=x, y=y, out_idx=tf.int64)]


def pool(feed):
    """Constant windows, the only ones that run here."""
    x = feed(2, 7, 6, 3)
    x.set_shape([2, 7, 6, 3])
    return with_gradients([raw.MaxPoolV2(input=x, ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding=padding) for padding in ("SAME", "VALID")], [x])


def unique(feed):
    x = feed(9, dtype=tf.int64)
    none, first = tf.constant([], tf.int64), tf.constant([0], tf.int32)
    return [*raw.UniqueV2(x=x, axis=none), *raw.UniqueV2(x=x, axis=first, out_idx=tf.int64), *raw.UniqueWithCountsV2(x=x, axis=none)]


def training(feed):
    """Versions with an epsilon and a shrinkage, on resource variables."""
    def slots(n):
        return [tf1.get_variable(f"{len(tf1.global_variables())}", initializer=tf.ones([4, 3]), use_resource=True) for _ in range(n)]

    ys, rows = [], tf.constant([2, 0])
    for op, count, numbers in (("AdagradV2", 2, dict(lr=0.5, epsilon=0.1)), ("FtrlV2", 3, dict(lr=0.5, l1=0.1, l2=0.2, l2_shrinkage=0.3, lr_power=-0.5))):
        names = ["var", "accum", "linear"][:count]
        for prefix, sparse in (("ResourceApply", {}), ("ResourceSparseApply", {"indices": rows})):
            variables = slots(count)
            with tf.control_dependencies([v.initializer for v in variables]):
                handles = {name: v.handle for name, v in zip(names, variables)}
                step = getattr(raw, prefix + op)(grad=feed(2 if sparse else 4, 3), **handles, **sparse, **numbers)
            with tf.control_dependencies([step]):
                ys += [v.read_value() for v in variables]
    return [tf.concat(ys, 0)]  # one fetch, as each initializes the variables


def in_top_k(feed):
    predictions = feed(6, 4)
    targets = feed(6, dtype=tf.int32, low=0, high=3)
    return [raw.InTopK(predictions=predictions, targets=targets, k=2), raw.InTopK(predictions=predictions, targets=tf.cast(targets, tf.int64), k=1)]


def division(feed):
    x, y = feed(4, 3), feed(1, 3, low=0.5)
    m, n = feed(8, dtype=tf.int32, low=-9, high=9), feed(8, dtype=tf.int32, low=1, high=4)
    wide = [tf.cast(m, tf.int64), tf.cast(-n, tf.int64)]
    integers = [op(x=left, y=right) for op in (raw.Div, raw.Mod, raw.TruncateDiv, raw.TruncateMod) for left, right in ((m, n), (m, -n), wide)]
    return with_gradients([raw.Div(x=x, y=y)], [x, y]) + integers + [raw.Mod(x=x, y=y), raw.TruncateMod(x=-x, y=y)]


def products(feed):
    a, b, c = feed(2, 3, 4), feed(2, 4, 5), feed(2, 5, 4)
    ys = [raw.BatchMatMul(x=a, y=b), raw.BatchMatMul(x=a, y=c, adj_y=True), raw.BatchMatMul(x=b, y=a, adj_x=True, adj_y=True)]
    return with_gradients(ys, [a, b, c]) + [raw.BatchMatMulV3(x=a, y=b, Tout=tf.float32)]


def normalization(feed):
    x, scale, offset = feed(3, 4, 5, 2), feed(2), feed(2)
    mean, variance = feed(2), feed(2, low=0.5)
    ys, others = [], []
    for op in (raw.FusedBatchNorm, raw.FusedBatchNormV2):
        for is_training in (True, False):
            given = [mean, variance] if not is_training else [tf.constant([], tf.float32)] * 2
            result = op(x=x, scale=scale, offset=offset, mean=given[0], variance=given[1], is_training=is_training, epsilon=0.01)
            ys.append(result.y)
            others += [result.batch_mean, result.batch_variance]
    return with_gradients(ys, [x, scale, offset]) + others


def bias(feed):
    return [raw.BiasAddV1(value=feed(2, 3), bias=tf.constant([1.0, 2.0, 3.0])), raw.CheckNumericsV2(tensor=feed(2), message="x")]


def prevented_gradient(feed):
    """What every gradient of a sparse cross entropy had up to 1.15."""
    return [raw.PreventGradient(input=feed(2, 3), message="no second derivative") * 2.0]


def variable(feed):
    v = gen_state_ops.variable(shape=[2, 3], dtype=tf.float32)
    anything = gen_state_ops.variable(shape=[], dtype=tf.float32)
    with tf.control_dependencies([tf1.assign(v, feed(2, 3)), tf1.assign(anything, feed(4), validate_shape=False)]):
        return [raw.ApplyGradientDescent(var=v, alpha=0.5, delta=feed(2, 3)), tf.identity(anything)]


def queue(feed):
    q = gen_data_flow_ops.fifo_queue(component_types=[tf.float32], shapes=[[3]], capacity=9)
    with tf.control_dependencies([gen_data_flow_ops.queue_enqueue_many(q, [feed(4, 3)])]):
        with tf.control_dependencies([gen_data_flow_ops.queue_enqueue(q, [tf.ones([3])])]):
            first = gen_data_flow_ops.queue_dequeue(q, [tf.float32])[0]
    with tf.control_dependencies([first]):
        more = gen_data_flow_ops.queue_dequeue_many(q, 3, [tf.float32])[0]
    with tf.control_dependencies([more]):
        size = gen_data_flow_ops.queue_size(q)
    return [tf.concat([[first], more, tf.fill([1, 3], tf.cast(size, tf.float32))], 0)]  # one fetch, as each takes elements out


def added(op, inputs, **attrs):
    """The output of a node of an op type that graphs of today may not have."""
    graph_def = tf1.GraphDef()
    graph_def.versions.producer = 6
    node = graph_def.node.add(name=op, op=op, input=[f"input{i}" for i in range(len(inputs))])
    for i, x in enumerate(inputs):
        graph_def.node.add(name=f"input{i}", op="Placeholder").attr["dtype"].type = x.dtype.as_datatype_enum
    node.attr["T"].type = tf.float32.as_datatype_enum
    for key, value in attrs.items():
        setattr(node.attr[key], {float: "f", bool: "b"}[type(value)], value)
    return tf.import_graph_def(graph_def, {f"input{i}": x for i, x in enumerate(inputs)}, [f"{op}:0"], name="")


def removed(feed):
    """What graphs had before 1.0, such as that of the first Inception."""
    x, mean, variance, beta, gamma = feed(2, 4, 5, 3), feed(3), feed(3, low=0.5), feed(3), feed(3)
    inputs = [x, mean, variance, beta, gamma]
    ys = [added("BatchNormWithGlobalNormalization", inputs, variance_epsilon=0.001, scale_after_normalization=scales)[0] for scales in (True, False)]
    y = feed(4, low=0.5)
    return [*ys, *added("Inv", [y]), *added("InvGrad", [y, y])]


@pytest.mark.parametrize("build", [concat, gather, pad, pool, unique, training, list_diff, in_top_k, division, products, normalization, bias, prevented_gradient, variable, queue, removed],
                         ids=lambda build: build.__name__)
def test_we_run_it(programs, run, deviation, tmp_path, build):
    feed = Inputs()
    with tf1.Graph().as_default() as graph:
        ys = [tf.identity(y) for y in build(feed)]
        tf1.train.export_meta_graph(str(tmp_path / "old.meta"))
        with tf1.Session(graph=graph) as session:
            expected = session.run(ys, feed.feeds)
    with tf1.Graph().as_default() as files, tf1.Session(graph=files) as session:
        session.run(raw.SaveV2(prefix=str(tmp_path / "feeds"), tensor_names=[key.name for key in feed.feeds], shape_and_slices=[""] * len(feed.feeds),
                               tensors=[tf.constant(value) for value in feed.feeds.values()]))
    run(programs / "run_imported", "--meta", tmp_path / "old.meta", "--feeds", tmp_path / "feeds", "--results", tmp_path / "results",
        *(y.name for y in ys))
    reader = tf.train.load_checkpoint(str(tmp_path / "results"))
    for y, value in zip(ys, expected):
        ours = reader.get_tensor(y.name)
        deviation("models", ours, value)
        assert ours.dtype == value.dtype
        np.testing.assert_allclose(ours, value, rtol=1e-5, atol=1e-5, err_msg=y.name)
