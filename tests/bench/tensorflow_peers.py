# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's own figures: tensorflow_peers.py FOLDER THREADS. Each line from the named pipe FOLDER/questions is the name of a measurement; it is
made once and its figure, or "missing", goes to FOLDER/answers. "quit" ends it.

Graph mode, variables as TensorFlow 1 has them: what our benchmarks do, done with TensorFlow. THREADS is 1, or 0 for its defaults.
"""

import functools
import os
import shutil
import sys
import tempfile
import time

# Open for both, so that opening waits for nobody, and questions do not end when one who asked goes.
questions = open(os.open(os.path.join(sys.argv[1], "questions"), os.O_RDWR), "r")
answers = os.open(os.path.join(sys.argv[1], "answers"), os.O_RDWR)

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
threads = int(sys.argv[2])
if threads:
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))

import numpy as np
import tensorflow as tf
from tensorflow.python.tpu.async_checkpoint import AsyncCheckpointSaverHook

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.disable_resource_variables()
v1.logging.set_verbosity(v1.logging.ERROR)

CONFIG = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
NEVER = 1 << 40
PARTS, ELEMENTS = 8, 12_500_000  # 400 MB of floats

folder = tempfile.mkdtemp(prefix="tensorflow-", dir=os.environ.get("TRAINHOOK_BENCH_DIR"))


def per_step(run, steps):
    start = time.perf_counter()
    for _ in range(steps):
        run()
    return (time.perf_counter() - start) / steps


def training_session(hooks):
    return v1.train.MonitoredSession(v1.train.ChiefSessionCreator(config=CONFIG), hooks=hooks)


def idle_hooks():
    """Microseconds that six idle hooks add to a step."""
    with v1.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        weight = v1.get_variable("weight", shape=[], initializer=v1.ones_initializer())
        loss = tf.identity(weight, name="loss")
        train = v1.assign_add(step, 1)
        summary = v1.summary.scalar("loss", loss)
        directory = os.path.join(folder, "idle")
        hooked = training_session([
            v1.train.StopAtStepHook(last_step=NEVER),
            v1.train.NanTensorHook(loss),
            v1.train.LoggingTensorHook([loss], every_n_iter=NEVER),
            v1.train.StepCounterHook(every_n_steps=NEVER, output_dir=directory),
            v1.train.SummarySaverHook(save_steps=NEVER, output_dir=directory, summary_op=summary),
            v1.train.CheckpointSaverHook(directory, save_steps=NEVER),
        ])
        bare = v1.Session(config=CONFIG)
        bare.run(v1.global_variables_initializer() if not v1.get_default_graph().finalized else [
            v.initializer for v in v1.global_variables()])
        while True:
            with_hooks = per_step(lambda: hooked.run(train), 1000)
            yield 1e6 * (with_hooks - per_step(lambda: bare.run(train), 1000))


def large_model():
    step = v1.train.get_or_create_global_step()
    variables = [v1.get_variable(f"part{i}", [ELEMENTS], initializer=v1.ones_initializer()) for i in range(PARTS)]
    gradient = v1.get_variable("gradient", [ELEMENTS], initializer=v1.constant_initializer(1e-3), trainable=False,
                               collections=[v1.GraphKeys.LOCAL_VARIABLES])
    train = tf.group(v1.assign_add(step, 1), *[v1.assign_sub(v, gradient) for v in variables])
    return v1.assign_add(step, 1), train


def save_400mb():
    """GB/s of a save that is not synced to disk."""
    with v1.Graph().as_default():
        large_model()
        saver = v1.train.Saver(max_to_keep=1)
        session = v1.Session(config=CONFIG)
        session.run(v1.global_variables_initializer())
        while True:
            directory = tempfile.mkdtemp(dir=folder)
            start = time.perf_counter()
            saver.save(session, os.path.join(directory, "model.ckpt"))
            elapsed = time.perf_counter() - start
            shutil.rmtree(directory)
            saver.set_last_checkpoints_with_time([])
            yield PARTS * ELEMENTS * 4 / 1e9 / elapsed


def async_stall():
    """Milliseconds that one asynchronous save delays all steps until it is written."""
    with v1.Graph().as_default():
        count, train = large_model()
        hook = AsyncCheckpointSaverHook(tempfile.mkdtemp(dir=folder), save_steps=100,
                                        saver=v1.train.Saver(max_to_keep=1))
        session = training_session([hook])
        while hook._save_thread.is_alive():
            time.sleep(0.01)
        since = 0
        while True:
            usual = []
            for _ in range(5):
                usual.append(per_step(lambda: session.run(train), 1))
            since += 5
            counting = []
            while since < 99:
                counting.append(per_step(lambda: session.run(count), 1))
                since += 1
            stall = per_step(lambda: session.run(count), 1) - float(np.median(counting))
            since = 0
            while hook._save_thread.is_alive():
                stall += per_step(lambda: session.run(train), 1) - float(np.median(usual))
                since += 1
            yield 1e3 * stall


def scalar_event():
    """Microseconds of one scalar on the thread that adds it."""
    with v1.Graph().as_default():
        writer = v1.summary.FileWriter(os.path.join(folder, "events"))
    step = 0
    while True:
        start = time.perf_counter()
        for _ in range(1000):
            writer.add_summary(v1.Summary(value=[v1.Summary.Value(tag="loss", simple_value=0.25)]), step)
            step += 1
        elapsed = time.perf_counter() - start
        writer.flush()
        yield 1e3 * elapsed


def mlp_step(batch):
    """Microseconds of a training step of a 784-128-10 classifier with Adam."""
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 784])
        y = v1.placeholder(tf.int64, [None])

        def dense(inputs, rows, columns, name):
            with v1.variable_scope(name):
                kernel = v1.get_variable("kernel", [rows, columns], initializer=v1.glorot_uniform_initializer())
                return inputs @ kernel + v1.get_variable("bias", [columns], initializer=v1.zeros_initializer())

        logits = dense(tf.nn.relu(dense(x, 784, 128, "hidden")), 128, 10, "logits")
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = v1.train.AdamOptimizer(1e-3).minimize(loss, v1.train.get_or_create_global_step())
        session = v1.Session(config=CONFIG)
        session.run(v1.global_variables_initializer())
        random = np.random.RandomState(7)
        feed = {x: random.rand(batch, 784).astype(np.float32), y: random.randint(10, size=batch)}
        per_step(lambda: session.run([train, loss], feed), 20)
        while True:
            yield 1e6 * per_step(lambda: session.run([train, loss], feed), 100)


def mlp_wide(width, batch):
    """Milliseconds of a training step of three dense layers with Adam."""
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, width])
        layer = x
        for i in range(3):
            kernel = v1.get_variable(f"kernel{i}", [width, width], initializer=v1.glorot_uniform_initializer())
            layer = tf.nn.relu(layer @ kernel + v1.get_variable(f"bias{i}", [width], initializer=v1.zeros_initializer()))
        loss = tf.reduce_mean(tf.square(layer))
        train = v1.train.AdamOptimizer(1e-4).minimize(loss, v1.train.get_or_create_global_step())
        session = v1.Session(config=CONFIG)
        session.run(v1.global_variables_initializer())
        feed = {x: np.random.RandomState(7).rand(batch, width).astype(np.float32)}
        per_step(lambda: session.run([train, loss], feed), 3)
        while True:
            yield 1e3 * per_step(lambda: session.run([train, loss], feed), 5)


def conv_step(batch):
    """Milliseconds of a training step of a small convolutional classifier with Adam."""
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 28, 28, 1])
        y = v1.placeholder(tf.int64, [None])

        def variable(name, shape):
            return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer() if len(shape) > 1 else v1.zeros_initializer())

        def convolution(inputs, channels, filters, name):
            result = tf.nn.conv2d(inputs, variable(name + "/kernel", [5, 5, channels, filters]), 1, "SAME")
            return tf.nn.max_pool2d(tf.nn.relu(tf.nn.bias_add(result, variable(name + "/bias", [filters]))), 2, 2, "VALID")

        def dense(inputs, rows, columns, name):
            return inputs @ variable(name + "/kernel", [rows, columns]) + variable(name + "/bias", [columns])

        images = convolution(convolution(x, 1, 32, "conv1"), 32, 64, "conv2")
        hidden = tf.nn.relu(dense(tf.reshape(images, [-1, 7 * 7 * 64]), 7 * 7 * 64, 128, "hidden"))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=dense(hidden, 128, 10, "logits")))
        train = v1.train.AdamOptimizer(1e-3).minimize(loss, v1.train.get_or_create_global_step())
        session = v1.Session(config=CONFIG)
        session.run(v1.global_variables_initializer())
        random = np.random.RandomState(7)
        feed = {x: random.rand(batch, 28, 28, 1).astype(np.float32), y: random.randint(10, size=batch)}
        per_step(lambda: session.run([train, loss], feed), 5)
        while True:
            yield 1e3 * per_step(lambda: session.run([train, loss], feed), 10)


CONVOLUTIONS = {  # image, filter, stride, padding, dilation, of each channel alone; as in conv_shapes_bench.cpp
    "text": ([64, 56, 128, 1], [3, 128, 1, 128], 1, "VALID", 1, False),
    "whole": ([32, 14, 14, 64], [14, 14, 64, 64], 1, "VALID", 1, False),
    "whole_padded": ([32, 14, 14, 8], [14, 14, 8, 8], 1, "SAME", 1, False),
    "3x3": ([32, 28, 28, 64], [3, 3, 64, 64], 1, "SAME", 1, False),
    "1x1": ([32, 14, 14, 256], [1, 1, 256, 64], 1, "SAME", 1, False),
    "strided": ([32, 56, 56, 32], [3, 3, 32, 64], 2, "SAME", 1, False),
    "stem": ([16, 112, 112, 3], [7, 7, 3, 64], 2, "SAME", 1, False),
    "dilated": ([16, 28, 28, 64], [3, 3, 64, 64], 1, "SAME", 2, False),
    "depthwise": ([32, 28, 28, 64], [3, 3, 64, 1], 1, "SAME", 1, True),
    "depthwise_strided": ([32, 28, 28, 64], [3, 3, 64, 1], 2, "SAME", 1, True),
    "depthwise_twice": ([32, 28, 28, 32], [3, 3, 32, 2], 1, "SAME", 1, True),
}


def convolution(name, which):
    """Milliseconds of a convolution (0), or of the gradient of its image (1) or its filter (2)."""
    image_shape, filter_shape, stride, padding, dilation, by_channel = CONVOLUTIONS[name]
    with v1.Graph().as_default():
        def variable(name, shape):
            return v1.get_variable(name, shape, initializer=v1.random_uniform_initializer())

        image, filters = variable("image", image_shape), variable("filter", filter_shape)
        if by_channel:
            result = tf.nn.depthwise_conv2d(image, filters, [1, stride, stride, 1], padding)
        else:
            result = tf.nn.conv2d(image, filters, stride, padding, dilations=dilation)
        fetch = [result, *tf.gradients(result, [image, filters], grad_ys=variable("gradient", result.shape))][which].op
        session = v1.Session(config=CONFIG)
        session.run(v1.global_variables_initializer())
        per_step(lambda: session.run(fetch), 2)
        while True:
            yield 1e3 * per_step(lambda: session.run(fetch), 1)


def dataset():
    """Thousands of images a second of an epoch of shuffle(10000).batch(64) over 60,000 images of 784 floats."""
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [60_000, 784])
        y = v1.placeholder(tf.int64, [60_000])
        batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10_000, seed=7).batch(64)
        iterator = v1.data.make_initializable_iterator(batches)
        images, _ = iterator.get_next()
        session = v1.Session(config=CONFIG)
        feed = {x: np.random.RandomState(7).rand(60_000, 784).astype(np.float32), y: np.zeros(60_000, np.int64)}
        while True:
            session.run(iterator.initializer, feed)
            start = time.perf_counter()
            try:
                while True:
                    session.run(images)
            except tf.errors.OutOfRangeError:
                yield 60 / (time.perf_counter() - start)


MEASUREMENTS = {
    "idle_hooks": idle_hooks,
    "conv_step_32": lambda: conv_step(32),
    "dataset": dataset,
    "save_400mb": save_400mb,
    "async_stall": async_stall,
    "scalar_event": scalar_event,
    "mlp_step_1": lambda: mlp_step(1),
    "mlp_step_32": lambda: mlp_step(32),
    "mlp_step_128": lambda: mlp_step(128),
    "mlp_wide_1024": lambda: mlp_wide(1024, 64),
    "mlp_wide_2048": lambda: mlp_wide(2048, 128),
    **{f"conv_{name}{suffix}": functools.partial(convolution, name, which)
       for name in CONVOLUTIONS for which, suffix in enumerate(["", "_input", "_filter"])},
}


def answer(name, running):
    try:
        if name not in running:
            running.clear()  # the models of other measurements go
            running[name] = MEASUREMENTS[name]()
        return str(next(running[name]))
    except Exception as error:  # the benchmarks go on without
        if name != "ready":
            print(f"tensorflow_peers.py: {name}: {error!r}", file=sys.stderr)
        return "missing"


def main():
    running = {}
    try:
        while (name := questions.readline().strip()) not in ("", "quit"):
            os.write(answers, (answer(name, running) + "\n").encode())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
