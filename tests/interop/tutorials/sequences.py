# SPDX-License-Identifier: Apache-2.0
"""Words and time: embeddings, recurrent networks, attention."""

import numpy as np
import tensorflow as tf

from tutorials.models import adam, bias, classified, dense, descend, mean_squared, tf1, tutorial, weight


def words_of(feed, length=5, most=11):
    return feed("words", [None, length], tf.int32, most)


def labels_of(feed, classes=3):
    return feed("labels", [None], tf.int64, classes)


def table(rows=11, width=4):
    return tf1.get_variable("embedding", [rows, width], initializer=tf1.random_uniform_initializer(-1.0, 1.0))


def recurrent(build):
    """A model of a sequence x [batch, 4 steps, 3 features] that ends in one of three classes."""

    def model(feed):
        x, labels = feed("x", [None, 4, 3]), labels_of(feed)
        logits = dense(build(feed, x), 3, "out")
        loss = classified(logits, labels)
        return [logits], [loss], adam(loss)

    model.__name__ = build.__name__
    return tutorial(model)


@recurrent
def rnn_by_hand(feed, x):
    state = tf1.zeros([tf1.shape(x)[0], 5])
    wx, wh, b = weight(3, 5), weight(5, 5), bias(5)
    for step in tf1.unstack(x, 4, 1):
        state = tf1.tanh(tf1.matmul(step, wx) + tf1.matmul(state, wh) + b)
    return tf1.reshape(state, [-1, 5])


@recurrent
def lstm_by_hand(feed, x):
    state = cell = tf1.zeros([8, 5])
    kernel, b = weight(8, 20), bias(20)
    for step in tf1.split(x, 4, 1):
        gates = tf1.matmul(tf1.concat([tf1.squeeze(step, [1]), state], 1), kernel) + b
        i, j, f, o = tf1.split(gates, 4, 1)
        cell = cell * tf1.sigmoid(f + 1.0) + tf1.sigmoid(i) * tf1.tanh(j)
        state = tf1.tanh(cell) * tf1.sigmoid(o)
    return state


@recurrent
def gru_by_hand(feed, x):
    state = tf1.zeros_like(x[:, 0, :1]) * tf1.ones([1, 5])
    gates, candidate = weight(8, 10), weight(8, 5)
    for step in range(4):
        r, u = tf1.split(tf1.sigmoid(tf1.matmul(tf1.concat([x[:, step], state], 1), gates) + 1.0), 2, 1)
        new = tf1.tanh(tf1.matmul(tf1.concat([x[:, step], r * state], 1), candidate))
        state = u * state + (1 - u) * new
    return state


@recurrent
def static_rnn_of_lstm(feed, x):
    cell = tf1.nn.rnn_cell.BasicLSTMCell(5, forget_bias=1.0)
    outputs, _ = tf1.nn.static_rnn(cell, tf1.unstack(x, 4, 1), dtype=tf.float32)
    return outputs[-1]


@recurrent
def static_rnn_of_stacked_gru(feed, x):
    cells = tf1.nn.rnn_cell.MultiRNNCell([tf1.nn.rnn_cell.GRUCell(4), tf1.nn.rnn_cell.BasicRNNCell(5)])
    outputs, _ = tf1.nn.static_rnn(cells, tf1.unstack(x, 4, 1), dtype=tf.float32)
    return outputs[-1]


@recurrent
def static_rnn_of_lengths(feed, x):
    cell = tf1.nn.rnn_cell.LSTMCell(5, use_peepholes=True, num_proj=3)
    lengths = feed("lengths", [8], tf.int32, 5)
    outputs, _ = tf1.nn.static_rnn(cell, tf1.unstack(x, 4, 1), dtype=tf.float32, sequence_length=lengths)
    return outputs[-1]


@recurrent
def bidirectional(feed, x):
    outputs, _, _ = tf1.nn.static_bidirectional_rnn(tf1.nn.rnn_cell.GRUCell(3), tf1.nn.rnn_cell.GRUCell(3), tf1.unstack(x, 4, 1), dtype=tf.float32)
    return tf1.reduce_mean(tf1.stack(outputs), 0)


@recurrent
def dynamic_rnn(feed, x):
    outputs, _ = tf1.nn.dynamic_rnn(tf1.nn.rnn_cell.BasicLSTMCell(5), x, dtype=tf.float32)
    return outputs[:, -1]


@recurrent
def scanned(feed, x):
    return tf1.scan(lambda state, step: tf1.tanh(state + step), tf1.transpose(x, [1, 0, 2]))[-1]


@tutorial
def char_rnn(feed):
    words, targets = words_of(feed), feed("targets", [None, 5], tf.int32, 11)
    cell, state = tf1.nn.rnn_cell.BasicRNNCell(6), tf1.zeros([8, 6])
    outputs = []
    for step in tf1.split(tf1.nn.embedding_lookup(table(), words), 5, 1):
        output, state = cell(tf1.squeeze(step, [1]), state)
        outputs.append(output)
    logits = dense(tf1.reshape(tf1.concat(outputs, 1), [-1, 6]), 11, "out")
    loss = tf1.reduce_sum(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=tf1.reshape(targets, [-1]), logits=logits)) / 40
    gradients, _ = tf1.clip_by_global_norm(tf1.gradients(loss, tf1.trainable_variables()), 1.0)
    train = tf1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, tf1.trainable_variables()))
    return [tf1.nn.softmax(logits), tf1.exp(loss), state], [loss], [train]


@tutorial
def sequence_loss(feed):
    x, targets, lengths = feed("x", [None, 5, 3]), feed("targets", [None, 5], tf.int32, 4), feed("lengths", [None], tf.int32, 6)
    logits = tf1.layers.dense(x, 4)
    mask = tf1.sequence_mask(lengths, 5, dtype=tf.float32)
    each = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits) * mask
    loss = tf1.reduce_sum(each) / (tf1.reduce_sum(mask) + 1e-12)
    last = tf1.reverse_sequence(x, lengths, seq_axis=1)
    return [last, logits], [loss], adam(loss)


@tutorial
def conditional_random_field(feed):
    x, tags = feed("x", [None, 4, 3]), feed("tags", [None, 4], tf.int32, 3)
    unary = tf1.reshape(tf1.matmul(tf1.reshape(x, [-1, 3]), weight(3, 3)), [-1, 4, 3])
    transitions = tf1.get_variable("transitions", [3, 3])
    alpha = unary[:, 0]
    for step in range(1, 4):
        alpha = unary[:, step] + tf1.reduce_logsumexp(tf1.expand_dims(alpha, 2) + tf1.expand_dims(transitions, 0), 1)
    score = tf1.reduce_sum(unary * tf1.one_hot(tags, 3), [1, 2])
    score += tf1.reduce_sum(tf1.gather(tf1.reshape(transitions, [-1]), tags[:, :-1] * 3 + tags[:, 1:]), 1)
    loss = tf1.reduce_mean(tf1.reduce_logsumexp(alpha, 1) - score)
    return [alpha], [loss], descend(loss)


@tutorial
def bag_of_words(feed):
    words, labels = words_of(feed), labels_of(feed)
    counts = tf1.reduce_sum(tf1.one_hot(words, 11), axis=1)
    logits = dense(tf1.concat([counts, tf1.reduce_mean(tf1.nn.embedding_lookup(table(), words), 1)], 1), 3, "out")
    loss = classified(logits, labels)
    return [counts, logits], [loss], adam(loss)


@tutorial
def text_cnn(feed):
    words, y = words_of(feed, 6), feed.one_hot("y", 2)
    embedded = tf1.expand_dims(tf1.nn.embedding_lookup(table(), words), -1)
    pooled = []
    for size in (2, 3):
        h = tf1.nn.relu(tf1.nn.bias_add(tf1.nn.conv2d(embedded, weight(size, 4, 1, 3), [1, 1, 1, 1], "VALID"), bias(3)))
        pooled.append(tf1.nn.max_pool(h, [1, 6 - size + 1, 1, 1], [1, 1, 1, 1], "VALID"))
    w, b = weight(6, 2), bias(2)
    scores = tf1.nn.xw_plus_b(tf1.reshape(tf1.concat(pooled, 3), [-1, 6]), w, b)
    losses = tf1.nn.softmax_cross_entropy_with_logits(logits=scores, labels=y)
    loss = tf1.reduce_mean(losses) + 0.1 * (tf1.nn.l2_loss(w) + tf1.nn.l2_loss(b))
    right = tf1.reduce_mean(tf1.cast(tf1.equal(tf1.argmax(scores, 1), tf1.argmax(y, 1)), "float"))
    return [scores, right], [loss], adam(loss)


@tutorial
def word2vec_by_nce(feed):
    words, context = feed("words", [None], tf.int32, 11), feed("context", [None, 1], tf.int32, 11)
    vectors = table()
    embedded = tf1.nn.embedding_lookup(vectors, words)
    loss = tf1.reduce_mean(tf1.nn.nce_loss(weights=weight(11, 4), biases=tf1.Variable(tf1.zeros([11])), labels=context, inputs=embedded,
                                           num_sampled=6, num_classes=11))
    sampled = tf1.get_default_graph().get_operation_by_name("nce_loss/LogUniformCandidateSampler").outputs
    feed.give(sampled[0], most=11)
    for expected_count in sampled[1:]:
        feed.give(expected_count, low=0.1)
    norm = tf1.sqrt(tf1.reduce_sum(tf1.square(vectors), 1, keepdims=True))
    similar = tf1.matmul(embedded, vectors / norm, transpose_b=True)
    return [similar], [loss], descend(loss, 0.5)


@tutorial
def word2vec_by_sampled_softmax(feed):
    words, context = feed("words", [None], tf.int32, 11), feed("context", [None, 1], tf.int32, 11)
    embedded = tf1.nn.embedding_lookup(table(), words)
    sampled = feed.give(tf1.identity(tf1.constant(np.arange(6)), name="sampled"), most=11)
    counts = tf1.ones([8, 1]), tf1.ones([6])
    loss = tf1.reduce_mean(tf1.nn.sampled_softmax_loss(weights=weight(11, 4), biases=tf1.Variable(tf1.zeros([11])), labels=context, inputs=embedded,
                                                       num_sampled=6, num_classes=11, sampled_values=(sampled, *counts)))
    return [embedded], [loss], [tf1.train.AdagradOptimizer(1.0).minimize(loss)]


@tutorial(resources=True)
def cbow(feed):
    context, target = words_of(feed, 4), feed("target", [None], tf.int32, 11)
    logits = tf1.matmul(tf1.reduce_sum(tf1.nn.embedding_lookup(table(), context), 1), weight(11, 4), transpose_b=True)
    loss = classified(logits, target)
    return [logits], [loss], [tf1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)]


@tutorial
def glove(feed):
    focal, context, count = feed("focal", [None], tf.int32, 11), feed("context", [None], tf.int32, 11), feed("count", [None], low=0.1, high=30)
    with tf1.variable_scope("focal"):
        a, b = tf1.nn.embedding_lookup([table()], focal), tf1.nn.embedding_lookup([tf1.get_variable("b", [11])], focal)
    with tf1.variable_scope("context"):
        c, d = tf1.nn.embedding_lookup([table()], context), tf1.nn.embedding_lookup([tf1.get_variable("b", [11])], context)
    weighting = tf1.minimum(1.0, tf1.pow(tf1.div(count, 10.0), 0.75))
    distance = tf1.square(tf1.add_n([tf1.reduce_sum(tf1.multiply(a, c), 1), b, d, tf1.negative(tf1.log(tf1.to_float(count)))]))
    loss = tf1.reduce_sum(tf1.multiply(weighting, distance))
    return [distance], [loss], [tf1.train.AdagradOptimizer(0.05).minimize(loss)]


@tutorial
def attention_over_states(feed):
    x, labels = feed("x", [None, 5, 4]), labels_of(feed)
    w, b, u = weight(4, 6), bias(6), weight(6)
    scores = tf1.tensordot(tf1.tanh(tf1.tensordot(x, w, axes=1) + b), u, axes=1)
    alphas = tf1.nn.softmax(scores, name="alphas")
    logits = dense(tf1.reduce_sum(x * tf1.expand_dims(alphas, -1), 1), 3, "out")
    loss = classified(logits, labels)
    return [alphas, logits], [loss], adam(loss)


@tutorial
def sequence_to_sequence_attention(feed):
    source, target = words_of(feed, 4), feed("target", [None, 3], tf.int32, 11)
    vectors = table()
    cell = tf1.nn.rnn_cell.GRUCell(4)
    encoded, state = tf1.nn.static_rnn(cell, tf1.unstack(tf1.nn.embedding_lookup(vectors, source), axis=1), dtype=tf.float32)
    memory = tf1.stack(encoded, axis=1)
    decoder, losses, word = tf1.nn.rnn_cell.GRUCell(4, name="decoder"), [], tf1.zeros([8], tf.int32)
    for step in range(3):
        context = tf1.matmul(tf1.nn.softmax(tf1.matmul(memory, tf1.expand_dims(state, 2)), axis=1), memory, transpose_a=True)
        _, state = decoder(tf1.concat([tf1.gather(vectors, word), tf1.squeeze(context, 1)], 1), state)
        logits = dense(state, 11, "project")
        losses.append(classified(logits, target[:, step]))
        word = target[:, step]
    loss = tf1.add_n(losses) / 3
    return [tf1.argmax(logits, 1, output_type=tf.int32), memory], [loss], adam(loss)


def layer_norm(x, name):
    with tf1.variable_scope(name):
        gamma, beta = tf1.get_variable("gamma", [4], initializer=tf1.ones_initializer()), tf1.get_variable("beta", [4], initializer=tf1.zeros_initializer())
    mean, variance = tf1.nn.moments(x, [-1], keep_dims=True)
    return gamma * (x - mean) / ((variance + 1e-6) ** 0.5) + beta


def transformer_block(x, project, product):
    def heads(y):
        return tf1.transpose(tf1.reshape(y, [8, 5, 2, 2]), [0, 2, 1, 3])

    q, k, v = [heads(project(x, name)) for name in "qkv"]
    scores = product(q, k) / np.sqrt(2.0)
    future = tf1.linalg.LinearOperatorLowerTriangular(tf1.ones([5, 5])).to_dense()
    scores = tf1.where(tf1.equal(tf1.tile(future[None, None], [8, 2, 1, 1]), 0), tf1.ones_like(scores) * -1e9, scores)
    found = tf1.reshape(tf1.transpose(tf1.matmul(tf1.nn.softmax(scores), v), [0, 2, 1, 3]), [8, 5, 4])
    x = layer_norm(x + project(found, "o"), "n1")
    h = tf1.layers.dense(x, 8)
    h = 0.5 * h * (1 + tf1.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * tf1.pow(h, 3))))
    return layer_norm(x + tf1.layers.dense(h, 4), "n2")


@tutorial
def transformer(feed):
    words, targets = words_of(feed), feed("targets", [None, 5], tf.int64, 11)
    vectors = table()
    places = np.array([[np.sin(p), np.cos(p), np.sin(p / 100), np.cos(p / 100)] for p in range(5)], np.float32)
    x = tf1.nn.embedding_lookup(vectors, words) * 2.0 + places
    x = transformer_block(x, lambda y, name: tf1.layers.dense(y, 4, use_bias=False, name=name), lambda q, k: tf1.matmul(q, k, transpose_b=True))
    logits = tf1.tensordot(x, tf1.transpose(vectors), 1)
    smooth = 0.9 * tf1.one_hot(targets, 11) + 0.1 / 11
    loss = tf1.reduce_mean(tf1.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=smooth))
    return [logits], [loss], [tf1.train.AdamOptimizer(0.01, beta1=0.9, beta2=0.98, epsilon=1e-9).minimize(loss)]


@tutorial
def transformer_by_einsum(feed):
    words, labels = words_of(feed), labels_of(feed)

    def project(y, name):
        return tf1.einsum("btd,de->bte", y, tf1.get_variable(name, [4, 4]))

    x = transformer_block(tf1.nn.embedding_lookup(table(), words), project, lambda q, k: tf1.einsum("bhqd,bhkd->bhqk", q, k))
    logits = dense(x[:, -1], 3, "out")
    loss = classified(logits, labels)
    return [logits], [loss], adam(loss)


@tutorial
def memory_network(feed):
    story, question, answer = feed("story", [None, 3, 4], tf.int32, 11), feed("question", [None, 4], tf.int32, 11), feed("answer", [None], tf.int32, 11)
    a = table()
    u = tf1.reduce_sum(tf1.nn.embedding_lookup(a, question), 1)
    for hop in range(2):
        m = tf1.reduce_sum(tf1.nn.embedding_lookup(a, story), 2)
        p = tf1.nn.softmax(tf1.reduce_sum(m * tf1.transpose(tf1.expand_dims(u, -1), [0, 2, 1]), 2))
        c = tf1.transpose(tf1.reduce_sum(tf1.nn.embedding_lookup(weight(11, 4, name=f"c_{hop}"), story), 2), [0, 2, 1])
        u = tf1.matmul(u, weight(4, 4)) + tf1.reduce_sum(c * tf1.transpose(tf1.expand_dims(p, -1), [0, 2, 1]), 2)
    logits = tf1.matmul(u, tf1.transpose(a))
    loss = tf1.reduce_sum(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=answer, logits=logits))
    optimizer = tf1.train.GradientDescentOptimizer(0.01)
    gradients = [(tf1.clip_by_norm(gradient, 40.0), variable) for gradient, variable in optimizer.compute_gradients(loss)]
    return [logits], [loss], [optimizer.apply_gradients(gradients)]


@tutorial
def time_series(feed):
    x, y = feed("x", [None, 6]), feed("y", [None, 1])
    parts = tf1.stack([x[:, i:i + 3] for i in range(4)], axis=1)
    trend, season = tf1.cumsum(x, axis=1), tf1.sin(x * np.pi) + tf1.cos(x)
    features = tf1.concat([tf1.reshape(parts, [-1, 12]), trend, season, tf1.reverse(x, [1])], 1)
    loss = tf1.reduce_mean(tf1.log(tf1.cosh(dense(features, 1, "out") - y)))
    return [features], [loss], adam(loss)


@tutorial
def connectionist_temporal_classification(feed):
    x = feed("x", [4, 2, 3])
    labels = tf1.SparseTensor(tf1.constant([[0, 0], [1, 0]], tf.int64), tf1.constant([0, 1]), [2, 1])
    loss = tf1.reduce_mean(tf1.nn.ctc_loss(labels, tf1.layers.dense(x, 3), [4, 4]))
    return [tf1.nn.softmax(x)], [loss], descend(loss)
