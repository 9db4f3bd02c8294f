# SPDX-License-Identifier: Apache-2.0
"""Regression, clustering, optimizers, reinforcement learning, and what else needs no convolution and no sequence."""

import numpy as np
import tensorflow as tf

from tutorials.models import adam, bias, classified, dense, descend, mean_squared, tf1, tutorial, weight


@tutorial
def linear_regression(feed):
    x, y = feed("X", []), feed("Y", [])
    prediction = tf1.add(tf1.multiply(x, tf1.Variable(0.3, name="weight")), tf1.Variable(-0.6, name="bias"))
    cost = tf1.reduce_sum(tf1.pow(prediction - y, 2)) / (2 * 17)
    return [prediction], [cost], descend(cost)


@tutorial
def polynomial_fit(feed):
    x, y = feed("x", [None]), feed("y", [None])
    prediction = tf1.Variable(tf1.random_normal([1]), name="bias")
    for power in range(1, 5):
        prediction = tf1.add(tf1.multiply(tf1.pow(x, power), tf1.Variable(tf1.random_normal([1]), name=f"weight_{power}")), prediction)
    cost = tf1.reduce_sum(tf1.pow(prediction - y, 2)) / 7
    return [prediction], [cost], descend(cost)


@tutorial
def softmax_regression(feed):
    x, y = feed("x", [None, 6]), feed.one_hot("y", 3)
    prediction = tf1.nn.softmax(tf1.matmul(x, tf1.Variable(tf1.zeros([6, 3]))) + tf1.Variable(tf1.zeros([3])))
    cost = tf1.reduce_mean(-tf1.reduce_sum(y * tf1.log(prediction), reduction_indices=1))
    correct = tf1.equal(tf1.argmax(prediction, 1), tf1.argmax(y, 1))
    return [prediction, tf1.reduce_mean(tf1.cast(correct, tf.float32))], [cost], descend(cost)


@tutorial(resources=True)
def logistic_regression(feed):
    x, y = feed("x", [None, 5]), feed("y", [None, 1], most=2)
    output = tf1.matmul(x, weight(5, 1)) + bias(1, 1)
    loss = tf1.reduce_mean(tf1.nn.sigmoid_cross_entropy_with_logits(logits=output, labels=y))
    right = tf1.cast(tf1.equal(tf1.round(tf1.sigmoid(output)), y), tf.float32)
    return [tf1.reduce_mean(right), tf1.sigmoid(output)], [loss], descend(loss)


@tutorial
def elastic_net(feed):
    x, y = feed("x", [None, 3]), feed("y", [None, 1])
    a = weight(3, 1)
    output = tf1.add(tf1.matmul(x, a), weight(1, 1))
    loss = tf1.expand_dims(tf1.add(tf1.add(mean_squared(y, output), tf1.reduce_mean(tf1.abs(a))), tf1.reduce_mean(tf1.square(a))), 0)
    return [output], [loss], descend(loss)


@tutorial
def lasso_by_heaviside(feed):
    x, y = feed("x", [None, 1]), feed("y", [None, 1])
    a = weight(1, 1)
    step = tf1.truediv(1.0, tf1.add(1.0, tf1.exp(tf1.multiply(-50.0, tf1.subtract(a, 0.9)))))
    loss = tf1.add(mean_squared(y, tf1.matmul(x, a)), tf1.multiply(step, 99.0))
    return [step], [loss], descend(loss, 0.001)


@tutorial
def deming_regression(feed):
    x, y = feed("x", [None, 1]), feed("y", [None, 1])
    a, b = weight(1, 1), weight(1, 1)
    numerator = tf1.abs(tf1.subtract(tf1.add(tf1.matmul(x, a), b), y))
    loss = tf1.reduce_mean(tf1.truediv(numerator, tf1.sqrt(tf1.add(tf1.square(a), 1))))
    return [numerator], [loss], descend(loss)


@tutorial
def poisson_and_quantiles(feed):
    x, y = feed("x", [None, 3]), feed("y", [None, 1], most=4)
    rate = dense(x, 1, "rate")
    error = y - dense(x, 3, "quantiles")
    quantile = tf1.constant([0.1, 0.5, 0.9])
    loss = tf1.reduce_mean(tf.nn.log_poisson_loss(y, rate)) + tf1.reduce_mean(tf1.maximum(quantile * error, (quantile - 1.0) * error))
    return [tf1.exp(rate), error], [loss], descend(loss)


@tutorial
def linear_svm(feed):
    x, y = feed("x", [None, 2]), tf1.sign(feed("y", [None, 1]))
    a, b = weight(2, 1), weight(1, 1)
    output = tf1.subtract(tf1.matmul(x, a), b)
    loss = tf1.add(tf1.reduce_mean(tf1.maximum(0.0, tf1.subtract(1.0, tf1.multiply(output, y)))), tf1.multiply(0.01, tf1.reduce_sum(tf1.square(a))))
    return [tf1.sign(output)], [loss], descend(loss, 0.01)


@tutorial
def kernel_svm(feed):
    x, grid, y = feed("x", [8, 2]), feed("grid", [None, 2]), tf1.sign(feed("y", [8, 1]))
    b = weight(1, 8)
    rows = tf1.reshape(tf1.reduce_sum(tf1.square(x), 1), [-1, 1])
    distances = tf1.add(tf1.subtract(rows, tf1.multiply(2.0, tf1.matmul(x, tf1.transpose(x)))), tf1.transpose(rows))
    kernel = tf1.exp(tf1.multiply(-5.0, tf1.abs(distances)))
    second = tf1.reduce_sum(tf1.multiply(tf1.matmul(tf1.transpose(b), b), tf1.multiply(kernel, tf1.matmul(y, tf1.transpose(y)))))
    loss = tf1.negative(tf1.subtract(tf1.reduce_sum(b), second))
    ours = tf1.reshape(tf1.reduce_sum(tf1.square(grid), 1), [-1, 1])
    other = tf1.add(tf1.subtract(rows, tf1.multiply(2.0, tf1.matmul(x, tf1.transpose(grid)))), tf1.transpose(ours))
    output = tf1.matmul(tf1.multiply(tf1.transpose(y), b), tf1.exp(tf1.multiply(-5.0, tf1.abs(other))))
    return [tf1.sign(output - tf1.reduce_mean(output)), kernel], [loss], descend(loss, 0.01)


@tutorial(train=False)
def regression_by_inverse(feed):
    a, b = feed("A", [8, 3]), feed("b", [8, 1])
    product = tf1.matmul(tf1.transpose(a), a)
    return [tf1.matmul(tf1.matmul(tf1.matrix_inverse(product), tf1.transpose(a)), b), tf1.matrix_determinant(product)], [], []


@tutorial(train=False)
def regression_by_cholesky(feed):
    a, b = feed("A", [8, 3]), feed("b", [8, 1])
    factor = tf1.cholesky(tf1.matmul(tf1.transpose(a), a))
    first = tf1.matrix_solve(factor, tf1.matmul(tf1.transpose(a), b))
    return [tf1.matrix_solve(tf1.transpose(factor), first)], [], []


@tutorial
def gaussian_process(feed):
    x, y, new = feed("x", [8, 1]), feed("y", [8, 1]), feed("new", [4, 1])
    length = tf1.Variable(0.5, name="length")

    def kernel(a, b):
        return tf1.exp(-tf1.square(a - tf1.transpose(b)) / (2 * tf1.square(length)))

    factor = tf1.cholesky(kernel(x, x) + 0.1 * tf1.eye(8))
    alpha = tf1.cholesky_solve(factor, y)
    loss = tf1.reduce_sum(y * alpha) / 2 + tf1.reduce_sum(tf1.log(tf1.matrix_diag_part(factor)))
    return [tf1.matmul(kernel(new, x), alpha)], [loss], descend(loss, 0.01)


@tutorial(train=False)
def nearest_neighbour(feed):
    train, test = feed("train", [None, 5]), feed("test", [5])
    distance = tf1.reduce_sum(tf1.abs(tf1.add(train, tf1.negative(test))), reduction_indices=1)
    return [tf1.arg_min(distance, 0), distance], [], []


@tutorial(train=False)
def k_nearest_neighbours(feed):
    x, y, new = feed("x", [None, 4]), feed("y", [None, 1]), feed("new", [None, 4])
    distances = tf1.sqrt(tf1.reduce_sum(tf1.square(tf1.subtract(x, tf1.expand_dims(new, 1))), reduction_indices=2))
    values, indices = tf1.nn.top_k(tf1.negative(distances), k=3)
    values = tf1.truediv(1.0, values)
    sums = tf1.matmul(tf1.expand_dims(tf1.reduce_sum(values, 1), 1), tf1.ones([1, 3]))
    weights = tf1.expand_dims(tf1.div(values, sums), 1)
    return [tf1.squeeze(tf1.matmul(weights, tf1.gather(y, indices)), axis=[1])], [], []


@tutorial
def k_means(feed):
    points = feed("points", [20, 2])
    centroids = tf1.Variable(feed.array(3, 2), name="centroids")
    labels = tf1.argmin(tf1.reduce_sum(tf1.square(tf1.expand_dims(points, 1) - tf1.expand_dims(centroids, 0)), 2), 1)
    total = tf1.unsorted_segment_sum(points, labels, 3)
    count = tf1.unsorted_segment_sum(tf1.ones_like(points), labels, 3)
    return [labels], [tf1.reduce_sum(total)], [centroids.assign(total / tf1.maximum(count, 1)).op]


@tutorial
def k_means_by_where(feed):
    points = feed("points", [20, 2])
    centroids = tf1.Variable(feed.array(2, 2), name="centroids")
    nearest = tf1.argmin(tf1.reduce_sum(tf1.square(tf1.subtract(tf1.expand_dims(points, 0), tf1.expand_dims(centroids, 1))), 2), 0)
    means = [tf1.reduce_mean(tf1.gather(points, tf1.reshape(tf1.where(tf1.equal(nearest, c)), [1, -1])), reduction_indices=[1]) for c in range(2)]
    means = tf1.concat(means, 0)
    means = tf1.where(tf1.is_nan(means), centroids, means)
    parts = tf1.dynamic_partition(points, tf1.cast(nearest, tf.int32), 2)
    return [nearest, *parts], [], [tf1.assign(centroids, means).op]


@tutorial
def gaussian_mixture(feed):
    x = tf1.expand_dims(feed("x", [None, 2]), 1)
    means, scales, weights = tf1.Variable(feed.array(1, 3, 2)), tf1.Variable(tf1.zeros([1, 3, 2])), tf1.Variable(tf1.zeros([3]))
    log_p = -0.5 * tf1.reduce_sum(tf1.square((x - means) / tf1.nn.softplus(scales)) + 2 * tf1.log(tf1.nn.softplus(scales)), 2)
    log_p += tf1.nn.log_softmax(weights)
    loss = -tf1.reduce_mean(tf1.reduce_logsumexp(log_p, 1))
    return [tf1.nn.softmax(log_p)], [loss], adam(loss)


@tutorial
def self_organising_map(feed):
    x = feed("x", [3])
    step = feed("step", [], most=5)
    places = tf1.constant([[i, j] for i in range(3) for j in range(2)], tf.float32)
    weights = tf1.Variable(feed.array(6, 3))
    best = tf1.argmin(tf1.sqrt(tf1.reduce_sum(tf1.pow(tf1.subtract(weights, tf1.stack([x] * 6)), 2), 1)), 0)
    begin = tf1.pad(tf1.reshape(best, [1]), np.array([[0, 1]]))
    place = tf1.reshape(tf1.slice(places, begin, tf1.cast(tf1.constant(np.array([1, 2])), tf.int64)), [2])
    rate = tf1.subtract(1.0, tf1.div(step, 10.0))
    distance = tf1.reduce_sum(tf1.pow(tf1.subtract(places, tf1.stack([place] * 6)), 2), 1)
    reach = tf1.exp(tf1.negative(tf1.div(distance, tf1.pow(rate * 2, 2))))
    change = tf1.stack([tf1.tile(tf1.slice(rate * reach, np.array([i]), np.array([1])), [3]) for i in range(6)])
    return [best, place], [], [tf1.assign(weights, tf1.add(weights, tf1.multiply(change, tf1.stack([x] * 6) - weights))).op]


@tutorial
def genetic_algorithm(feed):
    truth = tf1.constant(feed.array(4))
    crossover, mutation = feed("crossover", [6, 4], low=0), feed("mutation", [6, 4])
    population = tf1.Variable(feed.array(8, 4))
    fitness = -tf1.reduce_mean(tf1.square(tf1.subtract(population, truth)), 1)
    values, places = tf1.nn.top_k(fitness, k=8)
    parents = tf1.slice(tf1.gather(population, places), [0, 0], [2, 4])
    first = tf1.concat([tf1.slice(parents, [0, 0], [1, 4])] * 6, 0)
    second = tf1.concat([tf1.slice(parents, [1, 0], [1, 4])] * 6, 0)
    children = tf1.where(crossover > 0.5, first, second) + mutation
    return [values, tf1.gather(population, tf1.argmax(fitness))], [], [tf1.group(population.assign(tf1.concat([parents, children], 0)))]


ACTIVATIONS = {
    "relu": (tf.nn.relu, lambda: tf1.train.GradientDescentOptimizer(0.1)),
    "elu": (tf.nn.elu, lambda: tf1.train.MomentumOptimizer(0.1, 0.9)),
    "selu": (tf.nn.selu, lambda: tf1.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)),
    "leaky_relu": (lambda x: tf.nn.leaky_relu(x, 0.2), lambda: tf1.train.AdagradOptimizer(0.1)),
    "softplus": (tf.nn.softplus, lambda: tf1.train.AdadeltaOptimizer(1.0)),
    "swish": (lambda x: x * tf1.sigmoid(x), lambda: tf1.train.RMSPropOptimizer(0.01)),
    "sigmoid": (tf1.sigmoid, lambda: tf1.train.RMSPropOptimizer(0.01, momentum=0.5, centered=True)),
    "tanh": (tf1.tanh, lambda: tf1.train.AdamOptimizer(0.01)),
    "softsign": (tf.nn.softsign, lambda: tf1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001)),
    "relu6": (tf.nn.relu6, lambda: tf1.train.ProximalGradientDescentOptimizer(0.1, l2_regularization_strength=0.01)),
    "crelu": (tf1.nn.crelu, lambda: tf1.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01)),
    "gelu": (lambda x: 0.5 * x * (1 + tf1.erf(x / np.sqrt(2.0))), lambda: tf1.train.AdamOptimizer(0.02, epsilon=0.1)),
    "swish_of_library": (tf.nn.swish, lambda: tf1.train.AdamOptimizer(0.01)),
}


def perceptron(name):
    activation, optimizer = ACTIVATIONS[name]

    def build(feed):
        x, labels = feed("x", [None, 5]), feed("labels", [None], tf.int64, 3)
        logits = dense(dense(dense(x, 7, "h1", activation), 6, "h2", activation), 3, "out")
        loss = classified(logits, labels)
        right = tf1.nn.in_top_k(logits, tf1.cast(labels, tf.int32), 1)
        return [tf1.nn.softmax(logits), tf1.reduce_mean(tf1.cast(right, tf.float32))], [loss], [optimizer().minimize(loss)]

    build.__name__ = f"perceptron_{name}"
    return build


for position, activation_name in enumerate(ACTIVATIONS):
    tutorial(resources=position % 2 == 1)(perceptron(activation_name))


def decayed(name, rate):
    def build(feed):
        x, y = feed("x", [None, 4]), feed("y", [None, 1])
        step = tf1.Variable(0, trainable=False, name="global_step")
        learning_rate = rate(step)
        prediction = dense(x, 1, "out")
        loss = mean_squared(prediction, y)
        return [prediction], [loss, learning_rate], descend(loss, learning_rate, global_step=step)

    build.__name__ = f"decay_{name}"
    return tutorial(build)


decayed("exponential", lambda step: tf1.train.exponential_decay(0.2, step, 2, 0.8, staircase=True))
decayed("piecewise", lambda step: tf1.train.piecewise_constant(step, [1, 3], [0.2, 0.1, 0.05]))
decayed("polynomial", lambda step: tf1.train.polynomial_decay(0.2, step, 3, 0.01, power=0.5))
decayed("polynomial_cycle", lambda step: tf1.train.polynomial_decay(0.2, step, 3, 0.01, cycle=True))
decayed("inverse_time", lambda step: tf1.train.inverse_time_decay(0.2, step, 2, 0.5))
decayed("natural_exponential", lambda step: tf1.train.natural_exp_decay(0.2, step, 2, 0.5))
decayed("cosine", lambda step: tf1.train.cosine_decay(0.2, step, 4))
decayed("noam", lambda step: 0.3 * tf1.minimum(tf1.rsqrt(tf1.to_float(step) + 1), (tf1.to_float(step) + 1) * 4.0 ** -1.5))


def clipped(name, clip):
    def build(feed):
        x, y = feed("x", [None, 4]), feed("y", [None, 1])
        prediction = dense(dense(x, 5, "h", tf.nn.relu), 1, "out")
        loss = 10 * mean_squared(prediction, y)
        optimizer = tf1.train.AdamOptimizer(0.01)
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        return [prediction], [loss], [optimizer.apply_gradients(zip(clip(gradients), variables))]

    build.__name__ = f"clipped_{name}"
    return tutorial(build)


clipped("by_value", lambda gradients: [tf1.clip_by_value(gradient, -0.5, 0.5) for gradient in gradients])
clipped("by_norm", lambda gradients: [tf1.clip_by_norm(gradient, 0.5) for gradient in gradients])
clipped("by_average_norm", lambda gradients: [tf1.clip_by_average_norm(gradient, 0.1) for gradient in gradients])
clipped("by_global_norm", lambda gradients: tf1.clip_by_global_norm(gradients, 0.5)[0])


@tutorial(resources=True)
def regularized(feed):
    x, y = feed("x", [None, 4]), feed("y", [None, 1])
    with tf1.variable_scope("net", regularizer=lambda w: 0.01 * tf.nn.l2_loss(w) + 0.001 * tf1.reduce_sum(tf1.abs(w))):
        prediction = dense(dense(x, 5, "h", tf1.tanh), 1, "out")
    tf1.losses.mean_squared_error(y, prediction)
    tf1.losses.absolute_difference(y, prediction, weights=0.1)
    tf1.losses.huber_loss(y, prediction, delta=0.5)
    loss = tf1.losses.get_total_loss()
    return [prediction, tf1.losses.get_regularization_loss()], [loss], descend(loss)


@tutorial
def dropout_off(feed):
    keep = feed.constant(tf1.placeholder(tf.float32, name="keep_prob"), 1.0)
    x, labels = feed("x", [None, 5]), feed("labels", [None], tf.int64, 3)
    logits = dense(tf1.nn.dropout(dense(x, 9, "h", tf.nn.relu), keep_prob=keep), 3, "out")
    loss = classified(logits, labels)
    return [logits], [loss], adam(loss)


@tutorial
def dropout_of_layers(feed):
    training = feed.constant(tf1.placeholder_with_default(False, [], name="training"), True)
    x, labels = feed("x", [None, 5]), feed("labels", [None], tf.int64, 3)
    hidden = tf1.layers.dense(x, 9, activation=tf.nn.relu)
    logits = tf1.layers.dense(tf1.layers.dropout(hidden, rate=0.0, training=training), 3)
    loss = tf1.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    return [tf1.argmax(logits, axis=1)], [loss], adam(loss)


@tutorial
def dropout_with_drawn_mask(feed):
    x, y = feed("x", [None, 5]), feed("y", [None, 2])
    dropped = tf1.nn.dropout(dense(x, 9, "h", tf.nn.relu), rate=0.4, name="dropped")
    feed.give(dropped.graph.get_tensor_by_name("dropped/random_uniform/RandomUniform:0"), low=0, shape=[8, 9])
    loss = mean_squared(dense(dropped, 2, "out"), y)
    return [dropped], [loss], adam(loss)


@tutorial(frozen=False)  # freezing leaves an assignment to a constant
def batch_norm_by_hand(feed):
    x, y = feed("x", [None, 5]), feed("y", [None, 1])
    training = feed.constant(tf1.placeholder(tf.bool, [], name="training"), True)
    h = dense(x, 6, "h")
    beta, gamma = tf1.Variable(tf1.zeros([6]), name="beta"), tf1.Variable(tf1.ones([6]), name="gamma")
    mean, variance = tf1.nn.moments(h, [0])
    averages = tf1.train.ExponentialMovingAverage(0.5)

    def updated():
        with tf1.control_dependencies([averages.apply([mean, variance])]):
            return tf1.identity(mean), tf1.identity(variance)

    mean, variance = tf1.cond(training, updated, lambda: (averages.average(mean), averages.average(variance)))
    normal = tf1.nn.batch_normalization(h, mean, variance, beta, gamma, 1e-3)
    loss = mean_squared(dense(tf1.nn.relu(normal), 1, "out"), y)
    return [normal], [loss], descend(loss)


@tutorial
def batch_norm_of_layers(feed):
    x, labels = feed("x", [None, 6, 6, 2]), feed("labels", [None], tf.int64, 3)
    training = feed.constant(tf1.placeholder(tf.bool, [], name="training"), True)
    h = tf1.layers.batch_normalization(tf1.layers.conv2d(x, 4, 3), training=training)
    h = tf1.layers.batch_normalization(tf1.layers.flatten(tf1.nn.relu(h)), training=training, momentum=0.9)
    logits = tf1.layers.dense(h, 3)
    loss = classified(logits, labels)
    with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
        return [logits], [loss], [tf1.train.MomentumOptimizer(0.01, 0.9).minimize(loss)]


@tutorial
def exponential_moving_average(feed):
    x, y = feed("x", [None, 4]), feed("y", [None, 1])
    step = tf1.train.get_or_create_global_step()
    prediction = dense(x, 1, "out")
    loss = mean_squared(prediction, y)
    averages = tf1.train.ExponentialMovingAverage(0.9, step)
    train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    with tf1.control_dependencies([train]):
        return [prediction], [loss], [averages.apply(tf1.trainable_variables())]


@tutorial
def summaries(feed):
    x, y = feed("x", [None, 4]), feed("y", [None, 1])
    prediction = dense(x, 1, "out")
    loss = mean_squared(prediction, y)
    tf1.summary.scalar("loss", loss)
    tf1.summary.histogram("prediction", prediction)
    tf1.summary.image("image", tf1.reshape(x, [-1, 2, 2, 1]), 1)
    merged = tf1.summary.merge_all()
    return [tf1.shape(merged)], [loss], [*adam(loss), merged.op]


@tutorial
def metrics(feed):
    x, labels = feed("x", [None, 4]), feed("labels", [None], tf.int64, 2)
    logits = dense(x, 2, "out")
    loss = classified(logits, labels)
    predicted = tf1.argmax(logits, 1)
    found = [tf1.metrics.accuracy(labels, predicted), tf1.metrics.precision(labels, predicted), tf1.metrics.recall(labels, predicted),
             tf1.metrics.mean(loss), tf1.metrics.mean_squared_error(labels, predicted), tf1.metrics.false_positives(labels, predicted)]
    feed.setup.append(tf1.local_variables_initializer())
    return [predicted], [loss, *(value for value, _ in found)], [*descend(loss), tf1.group(*(update for _, update in found))]


@tutorial
def metrics_by_threshold(feed):
    x, labels = feed("x", [None, 4]), feed("labels", [None], tf.int64, 2)
    logits = dense(x, 2, "out")
    loss = classified(logits, labels)
    area, update = tf1.metrics.auc(labels, tf1.nn.softmax(logits)[:, 1], num_thresholds=20)
    matrix = tf1.confusion_matrix(labels, tf1.argmax(logits, 1), 2)
    feed.setup.append(tf1.local_variables_initializer())
    return [matrix], [loss, area], [*descend(loss), update.op]


@tutorial
def multi_task(feed):
    x, labels, y = feed("x", [None, 4]), feed("labels", [None], tf.int64, 3), feed("y", [None])
    shared = dense(x, 8, "shared", tf.nn.relu)
    logits, value = dense(shared, 3, "class"), tf1.squeeze(dense(shared, 1, "value"), [1])
    first, second = classified(logits, labels), mean_squared(value, y)
    variables = tf1.trainable_variables()
    apart = [tf1.train.AdamOptimizer(0.01).minimize(first), tf1.train.MomentumOptimizer(0.01, 0.9).minimize(second, var_list=variables[:2])]
    return [logits, value], [first, second, tf1.add_n([first, second])], [*apart, *descend(first + 0.5 * second)]


@tutorial
def matrix_factorisation(feed):
    users, items, ratings = feed("users", [None], tf.int32, 6), feed("items", [None], tf.int32, 5), feed("ratings", [None])
    u, v = tf1.get_variable("u", [6, 3]), tf1.get_variable("v", [5, 3])
    user_bias = tf1.get_variable("user_bias", [6], initializer=tf1.zeros_initializer())
    mean = tf1.get_variable("mean", [])
    p, q = tf1.nn.embedding_lookup(u, users), tf1.nn.embedding_lookup(v, items)
    prediction = tf1.reduce_sum(tf1.multiply(p, q), 1) + tf1.nn.embedding_lookup(user_bias, users) + mean
    loss = tf1.nn.l2_loss(prediction - ratings) + 0.05 * (tf1.nn.l2_loss(p) + tf1.nn.l2_loss(q))
    return [prediction], [loss], adam(loss)


@tutorial(resources=True)
def factorisation_machine(feed):
    x, y = feed("x", [None, 6]), feed("y", [None, 1])
    v = tf1.get_variable("v", [3, 6])
    pairs = tf1.subtract(tf1.pow(tf1.matmul(x, tf1.transpose(v)), 2), tf1.matmul(tf1.pow(x, 2), tf1.transpose(tf1.pow(v, 2))))
    prediction = dense(x, 1, "linear") + 0.5 * tf1.reduce_sum(pairs, 1, keep_dims=True)
    loss = mean_squared(prediction, y)
    return [prediction], [loss], [tf1.train.AdagradOptimizer(0.1).minimize(loss)]


@tutorial
def wide_and_deep(feed):
    ids, x = feed("ids", [None, 2], tf.int32, 10), feed("x", [None, 3])
    labels = feed("labels", [None, 1], most=2)
    table = tf1.get_variable("table", [10, 4])
    deep = tf1.concat([x, tf1.reshape(tf1.nn.embedding_lookup(table, ids), [-1, 8])], axis=1)
    deep = dense(dense(deep, 6, "h1", tf.nn.relu), 1, "deep")
    wide = tf1.reduce_sum(tf1.gather(tf1.get_variable("wide", [10, 1]), ids), 1)
    loss = tf1.reduce_mean(tf1.nn.weighted_cross_entropy_with_logits(labels=labels, logits=deep + wide, pos_weight=2.0))
    variables = tf1.trainable_variables()
    wide_train = tf1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01).minimize(loss, var_list=variables[-1:])
    deep_train = tf1.train.AdagradOptimizer(0.05).minimize(loss, var_list=variables[:-1])
    return [tf1.sigmoid(deep + wide)], [loss], [tf1.group(wide_train, deep_train)]


@tutorial
def sparse_features(feed):
    indices = tf1.constant([[0, 0], [0, 1], [1, 0], [2, 0], [3, 0], [3, 1], [4, 0], [5, 0], [6, 0], [7, 0]], tf.int64)
    ids = tf1.SparseTensor(indices, feed("ids", [10], tf.int64, 12), [8, 2])
    y = feed("y", [None, 3])
    mean = tf1.nn.embedding_lookup_sparse(tf1.get_variable("table", [12, 3]), ids, None, combiner="mean")
    loss = mean_squared(mean, y)
    return [mean], [loss], descend(loss)


@tutorial
def sparse_product(feed):
    indices = tf1.constant([[0, 1], [1, 0], [2, 3], [2, 4]], tf.int64)
    x, y = tf1.SparseTensor(indices, feed("values", [4]), [3, 5]), feed("y", [3, 2])
    prediction = tf1.sparse_tensor_dense_matmul(x, tf1.get_variable("w", [5, 2]))
    loss = mean_squared(prediction, y)
    return [prediction], [loss], descend(loss)


@tutorial
def sparse_labels(feed):
    x, labels = feed("x", [8, 4]), feed("labels", [8], tf.int32, 3)
    places = tf1.stack([tf1.range(8), labels], axis=1)
    dense_labels = tf1.sparse_to_dense(places, [8, 3], 1.0, 0.0)
    logits = dense(x, 3, "out")
    loss = tf1.reduce_mean(tf1.nn.softmax_cross_entropy_with_logits(logits=logits, labels=dense_labels))
    return [dense_labels, logits], [loss], descend(loss)


@tutorial(train=False)
def string_labels(feed):
    x = feed("x", [None, 4])
    names = tf1.constant(["shirt", "coat", "bag"])
    words = tf1.gather(names, tf1.argmax(dense(x, 3, "out"), 1))
    return [tf1.cast(tf1.equal(words, "coat"), tf.int32), words], [], []


@tutorial(train=False)
def word_table(feed):
    keys = tf1.placeholder(tf.string, [3], "words")
    feed.values[keys] = [np.array([b"coat", b"none", b"bag"], object)] * 5
    table = tf1.lookup.StaticHashTable(tf1.lookup.KeyValueTensorInitializer(["shirt", "coat", "bag"], tf1.constant([0, 1, 2], tf.int64)), -1)
    feed.setup.append(tf1.tables_initializer())
    return [table.lookup(keys)], [], []


@tutorial
def policy_gradient(feed):
    state, action, reward = feed("state", [None, 4]), feed("action", [None], tf.int32, 2), feed("reward", [None])
    output = dense(dense(state, 8, "h", tf.nn.relu), 2, "out", tf.nn.softmax)
    indexes = tf1.range(0, tf1.shape(output)[0]) * tf1.shape(output)[1] + action
    chosen = tf1.gather(tf1.reshape(output, [-1]), indexes)
    loss = -tf1.reduce_mean(tf1.log(chosen) * reward)
    variables = tf1.trainable_variables()
    holders = [tf1.placeholder(tf.float32, name=f"{i}_holder") for i in range(len(variables))]
    for holder, variable in zip(holders, variables):
        feed.give(holder, shape=variable.shape.as_list())
    update = tf1.train.AdamOptimizer(0.01).apply_gradients(zip(holders, variables))
    return [tf1.argmax(output, 1), *tf1.gradients(loss, variables)], [loss], [update]


@tutorial
def deep_q_network(feed):
    state, following = feed("state", [None, 4]), feed("following", [None, 4])
    action, reward, done = feed("action", [None], tf.int32, 3), feed("reward", [None]), feed("done", [None], most=2)

    def network(x, name):
        with tf1.variable_scope(name):
            return dense(dense(x, 8, "h", tf.nn.relu), 3, "q")

    q, target = network(state, "online"), network(following, "target")
    goal = tf1.stop_gradient(reward + 0.9 * (1.0 - done) * tf1.reduce_max(target, axis=1))
    chosen = tf1.reduce_sum(q * tf1.one_hot(action, 3, dtype=tf.float32), 1)
    error = tf1.where(tf1.abs(goal - chosen) < 1.0, 0.5 * tf1.square(goal - chosen), tf1.abs(goal - chosen) - 0.5)
    loss = tf1.reduce_mean(error)
    online, copies = [tf1.get_collection(tf1.GraphKeys.GLOBAL_VARIABLES, scope=scope) for scope in ("online", "target")]
    train = tf1.train.RMSPropOptimizer(0.01).minimize(loss, var_list=online)
    copy = tf1.group(*(tf1.assign(t, 0.9 * t + 0.1 * o) for t, o in zip(copies, online)))
    return [q, target], [loss], [train, copy]


@tutorial
def actor_critic(feed):
    state, action, ret = feed("state", [None, 4]), feed("action", [None], tf.int32, 3), feed("return", [None])
    shared = dense(state, 8, "shared", tf.nn.relu6)
    policy, value = dense(shared, 3, "policy", tf.nn.softmax), tf1.reshape(dense(shared, 1, "value"), [-1])
    advantage = ret - value
    log_p = tf1.log(tf1.reduce_sum(policy * tf1.one_hot(action, 3), axis=1, keep_dims=True) + 1e-10)
    entropy = -tf1.reduce_sum(policy * tf1.log(tf1.clip_by_value(policy, 1e-10, 1.0)))
    loss = 0.5 * tf1.reduce_sum(tf1.square(advantage)) - tf1.reduce_sum(log_p * tf1.stop_gradient(advantage)) - 0.01 * entropy
    gradients = tf1.gradients(loss, tf1.trainable_variables())
    clipped_gradients, norm = tf1.clip_by_global_norm(gradients, 40.0)
    return [policy, value, norm], [loss], [tf1.train.AdamOptimizer(0.01).apply_gradients(zip(clipped_gradients, tf1.trainable_variables()))]


@tutorial
def proximal_policy(feed):
    state, action, advantage = feed("state", [None, 3]), feed("action", [None, 2]), feed("advantage", [None])
    old = feed("old", [None], low=-3)
    mean, scale = dense(dense(state, 6, "h", tf1.tanh), 2, "mean"), tf1.get_variable("log_std", [2], initializer=tf1.constant_initializer(-0.5))
    log_p = tf1.reduce_sum(-0.5 * (tf1.square((action - mean) / (tf1.exp(scale) + 1e-8)) + 2 * scale + np.log(2 * np.pi)), axis=1)
    ratio = tf1.exp(log_p - old)
    low = tf1.where(advantage > 0, 1.2 * advantage, 0.8 * advantage)
    loss = -tf1.reduce_mean(tf1.minimum(ratio * advantage, low))
    return [mean, tf1.to_float(tf1.reduce_mean(tf1.cast(ratio > 1.2, tf.float32)))], [loss], adam(loss)


@tutorial
def conditions(feed):
    x, y = feed("x", [None, 4]), feed("y", [None, 1])
    h = dense(x, 1, "out")
    chosen = tf1.cond(tf1.reduce_mean(h) > 0, lambda: tf1.square(h), lambda: tf1.case([(tf1.reduce_max(h) > 0.5, lambda: h * 2)], lambda: -h))
    loss = mean_squared(chosen, y)
    return [chosen], [loss], descend(loss)


@tutorial(train=False)
def counting_loop(feed):
    x = feed("x", [])
    return tf1.while_loop(lambda i, total: i < 5, lambda i, total: (i + 1, total * 0.5 + x), [0, 1.0]), [], []


@tutorial
def counter(feed):
    state, by = tf1.Variable(0, name="counter"), feed("by", [], tf.int32, 9)
    with tf1.control_dependencies([tf1.assign(state, tf1.add(state, by))]):
        doubled = state.read_value() * 2
    return [by * 2], [], [doubled.op, tf1.assign_sub(state, 1).op]


@tutorial
def queue_fed(feed):
    x = feed("x", [None, 3])
    queue = tf1.FIFOQueue(100, [tf.float32], [[3]])
    dequeued = queue.dequeue_many(4, name="batch")
    loss = mean_squared(dense(dequeued, 1, "out"), 0.5)
    return [x + 1.0], [queue.size()], [queue.enqueue_many([x]), *descend(loss)]


@tutorial
def queue_shuffled(feed):
    x = feed("x", [3])
    queue = tf1.RandomShuffleQueue(100, 0, [tf.float32], [[3]], seed=1)
    loss = mean_squared(dense(tf1.expand_dims(queue.dequeue(), 0), 1, "out"), 0.5)
    return [x + 1.0], [queue.size()], [queue.enqueue([x]), *descend(loss)]


@tutorial
def partitioned(feed):
    x, y = feed("x", [None, 6]), feed("y", [None, 2])
    with tf1.variable_scope("parts", partitioner=tf1.fixed_size_partitioner(3)):
        kernel = tf1.get_variable("kernel", [6, 2])
        table = tf1.get_variable("table", [7, 2])
    words = tf1.nn.embedding_lookup(table, feed("ids", [None], tf.int32, 7), partition_strategy="div")
    loss = mean_squared(tf1.matmul(x, kernel) + words, y)
    return [words], [loss], adam(loss)


def assign_together(variables, values):
    """The tutorials leave out the dependency; then TensorFlow reads variables before or after they were written, as threads have it."""
    with tf1.control_dependencies(values):
        return tf1.group(*(tf1.assign(variable, value) for variable, value in zip(variables, values)))


@tutorial
def mandelbrot(feed):
    grid = np.linspace(-2, 0.5, 6)[None, :] + 1j * np.linspace(-1, 1, 5)[:, None]
    start = tf1.constant(grid.astype(np.complex64))
    z, count = tf1.Variable(start), tf1.Variable(tf1.zeros_like(start, tf.float32))
    following = z * z + start
    inside = tf1.cast(tf1.abs(following) < 4, tf.float32)
    return [tf1.abs(start)], [], [assign_together([z, count], [following, count + inside])]


@tutorial
def raindrops(feed):
    kernel = np.array([[0.5, 1, 0.5], [1, -6, 1], [0.5, 1, 0.5]], np.float32)[:, :, None, None]
    u, change = tf1.Variable(feed.array(9, 9)), tf1.Variable(tf1.zeros([9, 9]))
    eps, damping = feed("eps", [], low=0, high=0.1), feed("damping", [], low=0, high=0.1)
    laplace = tf1.nn.depthwise_conv2d(tf1.expand_dims(tf1.expand_dims(u, 0), -1), kernel, [1, 1, 1, 1], padding="SAME")[0, :, :, 0]
    u_, change_ = u + eps * change, change + eps * (laplace - damping * change)
    return [laplace], [], [assign_together([u, change], [u_, change_])]


@tutorial
def game_of_life(feed):
    board = tf1.Variable(tf1.cast(feed.array(8, 8) > 0, tf.int32))
    around = tf1.pad(tf1.cast(board, tf.float32), [[1, 1], [1, 1]])[None, :, :, None]
    neighbours = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)[:, :, None, None]
    count = tf1.cast(tf1.nn.conv2d(around, neighbours, [1, 1, 1, 1], "VALID")[0, :, :, 0], tf.int32)
    lives = tf1.logical_or(tf1.equal(count, 3), tf1.logical_and(tf1.equal(count, 2), tf1.equal(board, 1)))
    return [count], [], [board.assign(tf1.cast(lives, tf.int32)).op]


@tutorial
def predator_and_prey(feed):
    x, y, rate = tf1.Variable(1.0), tf1.Variable(1.0), feed("rate", [], low=0, high=0.1)
    dx, dy = x * (2 / 3) - 4 / 3 * x * y, x * y - y
    return [rate + 1.0], [], [assign_together([x, y], [x + dx * rate, y + dy * rate])]


@tutorial
def restricted_boltzmann_machine(feed):
    v0, drawn = feed("x", [None, 6], most=2), feed("drawn", [None, 4], low=0)
    w, vb, hb = weight(6, 4, name="w"), bias(6, name="vb"), bias(4, name="hb")
    h0 = tf1.nn.sigmoid(tf1.matmul(v0, w) + hb)
    sample = tf1.nn.relu(tf1.sign(h0 - drawn))
    v1 = tf1.nn.sigmoid(tf1.matmul(sample, tf1.transpose(w)) + vb)
    h1 = tf1.nn.sigmoid(tf1.matmul(v1, w) + hb)
    size = tf1.to_float(tf1.shape(v0)[0])
    change = (tf1.matmul(tf1.transpose(v0), h0) - tf1.matmul(tf1.transpose(v1), h1)) / size
    new = [w + 0.1 * change, vb + 0.1 * tf1.reduce_mean(v0 - v1, 0), hb + 0.1 * tf1.reduce_mean(h0 - h1, 0)]
    return [h0, v1], [mean_squared(v0, v1)], [assign_together([w, vb, hb], new)]


@tutorial
def mixture_density_network(feed):
    x, y = feed("x", [None, 1]), feed("y", [None, 1])
    scales, means, weights = tf1.split(dense(dense(x, 8, "h", tf1.tanh), 9, "out"), 3, 1)
    weights = tf1.exp(tf1.subtract(weights, tf1.reduce_max(weights, 1, keep_dims=True)))
    weights = tf1.multiply(tf1.reciprocal(tf1.reduce_sum(weights, 1, keep_dims=True)), weights)
    scales = tf1.exp(scales)
    normal = tf1.multiply(tf1.exp(tf1.negative(tf1.square((y - means) / scales)) / 2) / scales, 1 / np.sqrt(2 * np.pi))
    loss = tf1.reduce_mean(-tf1.log(tf1.reduce_sum(normal * weights, 1, keep_dims=True)))
    return [means, weights], [loss], adam(loss)


@tutorial
def highway_and_maxout(feed):
    x, y = feed("x", [None, 6]), feed("y", [None, 1])
    gate = dense(x, 6, "gate", tf1.sigmoid)
    h = dense(x, 6, "h", tf.nn.relu) * gate + x * (1.0 - gate)
    h = tf1.reduce_max(tf1.reshape(dense(h, 6, "pieces"), [-1, 3, 2]), axis=2)
    loss = mean_squared(dense(h, 1, "out"), y)
    return [h], [loss], descend(loss)


@tutorial
def arithmetic_units(feed):
    x, y = feed("x", [None, 4], low=0.1), feed("y", [None, 1])
    w_hat, m_hat = weight(4, 1, name="w_hat"), weight(4, 1, name="m_hat")
    w = tf1.tanh(w_hat) * tf1.sigmoid(m_hat)
    gate = tf1.sigmoid(tf1.matmul(x, weight(4, 1, name="g")))
    prediction = gate * tf1.matmul(x, w) + (1 - gate) * tf1.exp(tf1.matmul(tf1.log(tf1.abs(x) + 1e-7), w))
    loss = mean_squared(prediction, y)
    return [prediction, tf1.floormod(prediction, 0.3), tf1.sinh(x), tf1.atan(x), tf1.ceil(x * 3)], [loss], descend(loss)
