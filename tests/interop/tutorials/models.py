# SPDX-License-Identifier: Apache-2.0
"""The register of the models, what they share, and what they are fed."""

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
BATCH = 8
STEPS = 5
MODELS = {}


def tutorial(build=None, **keywords):
    """Registers a model. build(feed) returns (outputs, losses, train): what the frozen graph gives, what is fetched before each step, and the
    operations that a step runs, one after the other. resources: whether its variables are resource variables. frozen, train: whether there is a frozen
    graph to run, and something to train."""

    def register(function):
        MODELS[function.__name__] = (function, keywords)
        return function

    return register(build) if build else register


class Feeds:
    """feed("x", [None, 3]) is a placeholder, and other values of it for each step. None is the batch."""

    def __init__(self):
        self.random = np.random.default_rng(7)
        self.values = {}
        self.setup = []  # operations to run once, before the first step

    def __call__(self, name, shape, dtype=tf.float32, most=None, low=-1, high=1):
        return self.give(tf1.placeholder(dtype, shape, name), most, low, high)

    def give(self, tensor, most=None, low=-1, high=1, shape=None):
        """Feeds any tensor, such as the result of a random op, which the two sides draw differently."""
        shape = shape or [size or BATCH for size in tensor.shape.as_list()]
        if most is None:
            values = [self.random.uniform(low, high, shape) for _ in range(STEPS)]
        else:
            values = [self.random.integers(0, most, shape) for _ in range(STEPS)]
        self.values[tensor] = [np.asarray(value).astype(tensor.dtype.as_numpy_dtype) for value in values]
        return tensor

    def constant(self, tensor, value):
        self.values[tensor] = [np.asarray(value, tensor.dtype.as_numpy_dtype)] * STEPS
        return tensor

    def one_hot(self, name, classes):
        placeholder = tf1.placeholder(tf.float32, [None, classes], name)
        self.values[placeholder] = [np.eye(classes, dtype=np.float32)[self.random.integers(0, classes, BATCH)] for _ in range(STEPS)]
        return placeholder

    def array(self, *shape):
        """Numbers that are the same in each run, for constants."""
        return self.random.uniform(-1, 1, shape).astype(np.float32)


def weight(*shape, name=None):
    return tf1.Variable(tf1.truncated_normal(list(shape), stddev=0.3), name=name)


def bias(*shape, name=None):
    return tf1.Variable(tf.constant(0.1, shape=shape), name=name)


def dense(x, units, name, activation=None):
    with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE):
        kernel = tf1.get_variable("w", [int(x.shape[-1]), units], initializer=tf1.truncated_normal_initializer(stddev=0.3))
        y = tf1.matmul(x, kernel) + tf1.get_variable("b", [units], initializer=tf1.zeros_initializer())
    return activation(y) if activation else y


def conv(x, channels, name, size=3, stride=1, padding="SAME", activation=tf.nn.relu):
    with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE):
        kernel = tf1.get_variable("w", [size, size, int(x.shape[-1]), channels], initializer=tf1.truncated_normal_initializer(stddev=0.3))
        y = tf.nn.bias_add(tf1.nn.conv2d(x, kernel, [1, stride, stride, 1], padding), tf1.get_variable("b", [channels]))
    return activation(y) if activation else y


def classified(logits, labels):
    return tf1.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def mean_squared(x, y):
    return tf1.reduce_mean(tf1.square(x - y))


def descend(loss, rate=0.1, **keywords):
    return [tf1.train.GradientDescentOptimizer(rate).minimize(loss, **keywords)]


def adam(loss, rate=0.01, **keywords):
    return [tf1.train.AdamOptimizer(rate).minimize(loss, **keywords)]
