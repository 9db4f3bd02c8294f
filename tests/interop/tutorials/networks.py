# SPDX-License-Identifier: Apache-2.0
"""Images: convolutional networks, autoencoders, adversarial networks."""

import numpy as np
import tensorflow as tf

from tutorials.models import adam, bias, classified, conv, dense, descend, mean_squared, tf1, tutorial, weight


def image(feed, size=8, channels=2):
    return feed("image", [None, size, size, channels])


def labels_of(feed, classes=3):
    return feed("labels", [None], tf.int64, classes)


def flat(x):
    return tf1.reshape(x, [-1, int(np.prod([int(size) for size in x.shape[1:]]))])


@tutorial
def lenet(feed):
    x, labels = image(feed, 12, 1), labels_of(feed)
    h = tf1.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
    h = tf1.layers.max_pooling2d(h, 2, 2)
    h = tf1.layers.conv2d(h, 6, [2, 2], padding="same", activation=tf1.tanh)
    h = tf1.layers.average_pooling2d(h, 2, 1)
    logits = tf1.layers.dense(tf1.layers.dense(tf1.layers.flatten(h), 10, activation=tf.nn.relu), 3)
    loss = tf1.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    train = tf1.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=tf1.train.get_or_create_global_step())
    return [tf1.nn.softmax(logits), tf1.argmax(logits, 1)], [loss], [train]


@tutorial
def deep_mnist(feed):
    x, y = feed("x", [None, 64]), feed.one_hot("y", 4)
    keep = feed.constant(tf1.placeholder(tf.float32, name="keep"), 1.0)
    h = tf1.reshape(x, [-1, 8, 8, 1])
    for before, after in [(1, 4), (4, 6)]:
        h = tf1.nn.relu(tf1.nn.conv2d(h, weight(5, 5, before, after), strides=[1, 1, 1, 1], padding="SAME") + bias(after))
        h = tf1.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    h = tf1.nn.relu(tf1.matmul(tf1.reshape(h, [-1, 2 * 2 * 6]), weight(24, 16)) + bias(16))
    prediction = tf1.matmul(tf1.nn.dropout(h, keep), weight(16, 4)) + bias(4)
    loss = tf1.reduce_mean(tf1.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=prediction))
    return [prediction], [loss], adam(loss, 1e-3)


@tutorial
def cifar10(feed):
    x, labels = image(feed, 12, 3), labels_of(feed)
    kernel = tf1.get_variable("conv1", [5, 5, 3, 8], initializer=tf1.truncated_normal_initializer(stddev=0.05))
    tf1.add_to_collection("losses", tf1.multiply(tf1.nn.l2_loss(kernel), 0.004))
    h = tf1.nn.relu(tf1.nn.bias_add(tf1.nn.conv2d(x, kernel, [1, 1, 1, 1], padding="SAME"), bias(8)))
    h = tf1.nn.max_pool(h, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
    h = tf1.nn.lrn(h, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
    logits = dense(flat(h), 3, "softmax_linear")
    tf1.add_to_collection("losses", classified(logits, labels))
    loss = tf1.add_n(tf1.get_collection("losses"), name="total_loss")
    step = tf1.train.get_or_create_global_step()
    loss_averages = tf1.train.ExponentialMovingAverage(0.9, name="avg").apply(tf1.get_collection("losses") + [loss])
    rate = tf1.train.exponential_decay(0.1, step, 3, 0.1, staircase=True)
    with tf1.control_dependencies([loss_averages]):
        optimizer = tf1.train.GradientDescentOptimizer(rate)
        gradients = optimizer.compute_gradients(loss)
    apply = optimizer.apply_gradients(gradients, global_step=step)
    averages = tf1.train.ExponentialMovingAverage(0.99, step)
    with tf1.control_dependencies([apply]):
        return [logits], [loss], [averages.apply(tf1.trainable_variables())]


@tutorial
def strided_and_valid(feed):
    x, labels = image(feed, 11), labels_of(feed)
    h = conv(conv(x, 4, "a", 4, 2, "VALID"), 5, "b", 3, 2, "SAME", tf.nn.elu)
    h = tf1.nn.avg_pool(h, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    logits = dense(tf1.reduce_mean(conv(h, 3, "c", 1), [1, 2]), 3, "out")
    loss = classified(logits, labels)
    return [h, logits], [loss], [tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)]


@tutorial(resources=True)
def depthwise_separable(feed):
    x, labels = image(feed), labels_of(feed)
    h = tf1.nn.separable_conv2d(x, weight(3, 3, 2, 2), weight(1, 1, 4, 5), [1, 1, 1, 1], "SAME")
    h = tf1.nn.relu6(h)
    h = tf1.layers.separable_conv2d(h, 6, 3, strides=2, padding="same")
    logits = dense(tf1.reduce_mean(h, axis=[1, 2]), 3, "out")
    loss = classified(logits, labels)
    return [logits], [loss], adam(loss)


@tutorial
def dilated(feed):
    x, labels = image(feed, 9), labels_of(feed)
    h = tf1.nn.relu(tf1.nn.atrous_conv2d(x, weight(3, 3, 2, 3), 2, "SAME"))
    h = tf1.layers.conv2d(h, 4, 3, dilation_rate=2, padding="same", activation=tf.nn.relu)
    logits = dense(flat(h), 3, "out")
    loss = classified(logits, labels)
    return [logits], [loss], descend(loss, 0.01)


@tutorial
def resnet(feed):
    x, labels = image(feed), labels_of(feed)

    def normalized(h):
        return tf1.layers.batch_normalization(h, training=True, fused=True)

    h = conv(x, 4, "first")
    short = tf1.nn.avg_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    short = tf1.pad(short, [[0, 0], [0, 0], [0, 0], [1, 1]])
    h = tf1.nn.relu(normalized(h))
    h = conv(tf1.nn.relu(normalized(conv(h, 6, "a", stride=2, activation=None))), 6, "b", activation=None) + short
    logits = dense(tf1.reduce_mean(tf1.nn.relu(h), [1, 2]), 3, "out")
    loss = classified(logits, labels)
    with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
        return [logits], [loss], [tf1.train.MomentumOptimizer(0.01, 0.9).minimize(loss)]


@tutorial
def inception(feed):
    x, labels = image(feed), labels_of(feed)
    pooled = tf1.nn.max_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME")
    h = tf1.concat([conv(x, 2, "1"), conv(conv(x, 2, "3r", 1), 3, "3"), conv(conv(x, 2, "5r", 1), 2, "5", 5), conv(pooled, 2, "p", 1)], axis=3)
    logits = dense(flat(tf1.nn.avg_pool(h, [1, 8, 8, 1], [1, 1, 1, 1], "VALID")), 3, "out")
    loss = classified(logits, labels)
    return [h, logits], [loss], [tf1.train.RMSPropOptimizer(0.01, 0.9, 0.9, 1.0).minimize(loss)]


@tutorial
def densenet_and_squeeze(feed):
    h, labels = image(feed), labels_of(feed)
    for layer in range(3):
        h = tf1.concat([h, conv(h, 2, f"layer_{layer}")], 3)
    scale = dense(dense(tf1.reduce_mean(h, [1, 2]), 2, "squeeze", tf.nn.relu), 8, "excite", tf1.sigmoid)
    h = h * tf1.reshape(scale, [-1, 1, 1, 8])
    logits = tf1.layers.dense(tf1.layers.flatten(h), 3, kernel_initializer=tf1.glorot_normal_initializer())
    loss = classified(logits, labels)
    return [logits], [loss], adam(loss)


@tutorial
def u_net(feed):
    x, y = image(feed), feed("mask", [None, 8, 8, 1], most=2)
    first = conv(x, 3, "down")
    low = conv(tf1.layers.max_pooling2d(first, 2, 2), 4, "low")
    up = tf1.image.resize_nearest_neighbor(low, [8, 8])
    logits = conv(tf1.concat([conv(up, 3, "up"), first], -1), 1, "mask", 1, activation=None)
    p = tf1.sigmoid(logits)
    dice = 1 - (2 * tf1.reduce_sum(p * y) + 1) / (tf1.reduce_sum(p) + tf1.reduce_sum(y) + 1)
    loss = dice + tf1.losses.sigmoid_cross_entropy(y, logits)
    return [p], [loss], adam(loss)


@tutorial
def super_resolution(feed):
    x, y = image(feed, 4, 1), feed("y", [None, 8, 8, 1])
    result = tf1.depth_to_space(conv(conv(x, 4, "a", activation=tf1.tanh), 4, "b", activation=None), 2)
    loss = mean_squared(result, y)
    return [result, 10 * tf1.log(1 / loss) / np.log(10)], [loss], adam(loss)


@tutorial
def conv_1d(feed):
    x, labels = feed("x", [None, 10, 3]), labels_of(feed)
    h = tf1.nn.relu(tf1.nn.conv1d(x, weight(3, 3, 4), 1, "SAME"))
    h = tf1.layers.max_pooling1d(tf1.layers.conv1d(h, 4, 3, activation=tf.nn.relu), 2, 2)
    logits = dense(flat(h), 3, "out")
    loss = classified(logits, labels)
    return [logits], [loss], adam(loss)


@tutorial
def conv_3d(feed):
    x, labels = feed("x", [None, 4, 4, 4, 1]), labels_of(feed)
    h = tf1.nn.relu(tf1.nn.conv3d(x, weight(3, 3, 3, 1, 2), [1, 1, 1, 1, 1], "SAME"))
    h = tf1.nn.max_pool3d(h, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")
    logits = dense(flat(h), 3, "out")
    loss = classified(logits, labels)
    return [logits], [loss], adam(loss)


@tutorial
def autoencoder(feed):
    x = feed("x", [None, 12], low=0)
    code = dense(dense(x, 6, "e1", tf1.sigmoid), 3, "e2", tf1.sigmoid)
    y = dense(dense(code, 6, "d1", tf1.sigmoid), 12, "d2", tf1.sigmoid)
    loss = tf1.reduce_mean(tf1.pow(x - y, 2))
    return [code, y], [loss], [tf1.train.RMSPropOptimizer(0.01).minimize(loss)]


@tutorial
def denoising_autoencoder(feed):
    x = feed("x", [None, 12], low=0)
    noise = feed.give(tf1.random_normal([8, 12], name="noise"))
    w = weight(12, 5, name="tied")
    code = tf1.nn.softplus(tf1.matmul(x + 0.1 * noise, w) + bias(5))
    y = tf1.matmul(code, tf1.transpose(w)) + bias(12)
    loss = 0.5 * tf1.reduce_sum(tf1.pow(tf1.subtract(y, x), 2.0))
    return [y], [loss], adam(loss, 0.001)


@tutorial
def sparse_autoencoder(feed):
    x = feed("x", [None, 12], low=0)
    code = dense(x, 5, "code", tf1.sigmoid)
    y = dense(code, 12, "y")
    mean = tf1.reduce_mean(code, axis=0)
    divergence = 0.2 * tf1.log(0.2 / mean) + 0.8 * tf1.log(0.8 / (1 - mean))
    loss = mean_squared(x, y) + 0.1 * tf1.reduce_sum(divergence)
    return [code], [loss], adam(loss)


@tutorial
def variational_autoencoder(feed):
    x = feed("x", [None, 12], low=0)
    h = dense(x, 6, "encoder", tf.nn.softplus)
    mean, log_variance = dense(h, 2, "mean"), dense(h, 2, "log_variance")
    eps = feed.give(tf1.random_normal(tf1.shape(log_variance), name="eps"), shape=[8, 2])
    z = tf1.add(mean, tf1.multiply(tf1.sqrt(tf1.exp(log_variance)), eps))
    y = dense(dense(z, 6, "decoder", tf.nn.softplus), 12, "y", tf1.sigmoid)
    rebuilt = -tf1.reduce_sum(x * tf1.log(1e-10 + y) + (1 - x) * tf1.log(1e-10 + 1 - y), 1)
    latent = -0.5 * tf1.reduce_sum(1 + log_variance - tf1.square(mean) - tf1.exp(log_variance), 1)
    loss = tf1.reduce_mean(rebuilt + latent)
    return [y, z], [loss], adam(loss, 0.001)


@tutorial
def convolutional_autoencoder(feed):
    x = image(feed, 8, 1)
    code = conv(conv(x, 3, "a", 3, 2), 2, "b", 3, 2)
    h = tf1.nn.relu(tf1.nn.conv2d_transpose(code, weight(3, 3, 3, 2), tf1.stack([tf1.shape(x)[0], 4, 4, 3]), [1, 2, 2, 1], "SAME"))
    y = tf1.nn.conv2d_transpose(h, weight(3, 3, 1, 3), [8, 8, 8, 1], strides=[1, 2, 2, 1]) + bias(1)
    loss = mean_squared(x, y)
    return [y, code], [loss], adam(loss)


@tutorial
def unpooling_autoencoder(feed):
    x = image(feed, 8, 1)
    h, places = tf1.nn.max_pool_with_argmax(conv(x, 2, "a"), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    y = conv(tf1.image.resize_images(h, [8, 8], method=tf1.image.ResizeMethod.BILINEAR), 1, "b", activation=None)
    loss = mean_squared(x, y)
    return [y, places], [loss], adam(loss)


def generator(z):
    with tf1.variable_scope("generator", reuse=tf1.AUTO_REUSE):
        h = tf1.reshape(dense(z, 2 * 2 * 4, "project", tf.nn.relu), [-1, 2, 2, 4])
        h = tf1.layers.conv2d_transpose(h, 3, 3, strides=2, padding="same", activation=tf.nn.relu, name="up_1")
        return tf1.layers.conv2d_transpose(h, 1, 4, strides=2, padding="same", activation=tf1.tanh, name="up_2")


def discriminator(x):
    with tf1.variable_scope("discriminator", reuse=tf1.AUTO_REUSE):
        h = conv(conv(x, 3, "c1", 3, 2, activation=tf.nn.leaky_relu), 4, "c2", 3, 2, activation=tf.nn.leaky_relu)
        return dense(flat(h), 1, "logit")


def scope_of(name):
    return tf1.get_collection(tf1.GraphKeys.TRAINABLE_VARIABLES, scope=name)


def cross_entropy(logits, value):
    target = tf1.ones_like(logits) if value else tf1.zeros_like(logits)
    return tf1.reduce_mean(tf1.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=target))


@tutorial
def dcgan(feed):
    fake = generator(feed("z", [None, 3]))
    real, judged = discriminator(image(feed, 8, 1)), discriminator(fake)
    d_loss, g_loss = cross_entropy(real, True) + cross_entropy(judged, False), cross_entropy(judged, True)
    d_train = tf1.train.AdamOptimizer(0.002, beta1=0.5).minimize(d_loss, var_list=scope_of("discriminator"))
    g_train = tf1.train.AdamOptimizer(0.002, beta1=0.5).minimize(g_loss, var_list=scope_of("generator"))
    return [fake, judged], [d_loss, g_loss], [d_train, g_train]


@tutorial
def gan(feed):
    def made(z):
        with tf1.variable_scope("g"):
            return dense(dense(z, 6, "h", tf.nn.relu), 8, "x", tf1.sigmoid)

    def judged(x):
        with tf1.variable_scope("d", reuse=tf1.AUTO_REUSE):
            return dense(dense(x, 6, "h", tf.nn.relu), 1, "p", tf1.sigmoid)

    fake = made(feed("z", [None, 3]))
    p_real, p_fake = judged(feed("x", [None, 8], low=0)), judged(fake)
    g_loss, d_loss = -tf1.reduce_mean(tf1.log(p_fake)), -tf1.reduce_mean(tf1.log(p_real) + tf1.log(1.0 - p_fake))
    return [fake], [g_loss, d_loss], [*adam(d_loss, var_list=scope_of("d")), *adam(g_loss, var_list=scope_of("g"))]


@tutorial
def conditional_gan(feed):
    z, y, x = feed("z", [None, 3]), feed.one_hot("y", 3), feed("x", [None, 8])
    with tf1.variable_scope("g"):
        fake = dense(tf1.concat(axis=1, values=[z, y]), 8, "x", tf1.tanh)

    def judged(x):
        with tf1.variable_scope("d", reuse=tf1.AUTO_REUSE):
            return dense(dense(tf1.concat([x, y], 1), 6, "h", tf.nn.relu), 1, "p")

    d_loss = 0.5 * (tf1.reduce_mean(tf1.square(judged(x) - 1)) + tf1.reduce_mean(tf1.square(judged(fake))))
    g_loss = 0.5 * tf1.reduce_mean(tf1.square(judged(fake) - 1))
    return [fake], [g_loss, d_loss], [*descend(d_loss, var_list=scope_of("d")), *descend(g_loss, var_list=scope_of("g"))]


@tutorial
def wasserstein_gan_clipped(feed):
    x, z = feed("x", [None, 6]), feed("z", [None, 3])
    with tf1.variable_scope("g"):
        fake = dense(z, 6, "x")

    def judged(x):
        with tf1.variable_scope("d", reuse=tf1.AUTO_REUSE):
            return dense(dense(x, 6, "h", tf.nn.relu), 1, "p")

    d_loss, g_loss = tf1.reduce_mean(judged(fake)) - tf1.reduce_mean(judged(x)), -tf1.reduce_mean(judged(fake))
    d_train = tf1.train.RMSPropOptimizer(0.01).minimize(d_loss, var_list=scope_of("d"))
    g_train = tf1.train.RMSPropOptimizer(0.01).minimize(g_loss, var_list=scope_of("g"))
    clip = tf1.group(*(variable.assign(tf1.clip_by_value(variable, -0.2, 0.2)) for variable in scope_of("d")))
    return [fake], [d_loss, g_loss], [d_train, clip, g_train]


@tutorial
def wasserstein_gan_penalty(feed):
    x, z = feed("x", [None, 6]), feed("z", [None, 3])
    with tf1.variable_scope("g"):
        fake = dense(z, 6, "x")

    def judged(x):
        with tf1.variable_scope("d", reuse=tf1.AUTO_REUSE):
            return dense(dense(dense(x, 6, "h1", tf.nn.leaky_relu), 5, "h2", tf1.tanh), 1, "p")

    between = x + feed.give(tf1.random_uniform([8, 1], name="alpha"), low=0) * (fake - x)
    slope = tf1.gradients(judged(between), [between])[0]
    penalty = tf1.reduce_mean((tf1.sqrt(tf1.reduce_sum(tf1.square(slope), reduction_indices=[1])) - 1.0) ** 2)
    d_loss = tf1.reduce_mean(judged(fake)) - tf1.reduce_mean(judged(x)) + 10 * penalty
    return [slope], [d_loss], descend(d_loss, 0.01, var_list=scope_of("d"))


@tutorial
def cycle_gan(feed):
    def residual(x, name):
        with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE):
            padded = tf1.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
            h = conv(padded, 2, "a", padding="VALID", activation=None)
            mean, variance = tf1.nn.moments(h, [1, 2], keep_dims=True)
            return tf1.nn.relu((h - mean) / tf1.sqrt(variance + 1e-5)) + x

    x, y = image(feed, 6), feed("y", [None, 6, 6, 2])
    back, again = residual(residual(x, "to"), "from"), residual(residual(y, "from"), "to")
    loss = tf1.reduce_mean(tf1.abs(x - back)) + tf1.reduce_mean(tf1.abs(y - again))
    return [back], [loss], descend(loss)  # Adam would follow the rounding of biases that cancel


@tutorial
def neural_style(feed):
    content, style = conv_features(image(feed)), conv_features(feed("style", [8, 8, 8, 2]))
    picture = tf1.Variable(feed.array(8, 8, 8, 2))

    def gram(x):
        rows = tf1.reshape(x, [-1, int(x.shape[3])])
        return tf1.matmul(tf1.transpose(rows), rows) / 64.0

    found = conv_features(picture)
    variation = tf1.nn.l2_loss(picture[:, 1:, :, :] - picture[:, :-1, :, :]) + tf1.nn.l2_loss(picture[:, :, 1:] - picture[:, :, :7])
    loss = tf1.nn.l2_loss(found - content) + tf1.nn.l2_loss(gram(found) - gram(style)) + 0.1 * variation
    return [gram(content)], [loss], adam(loss, var_list=[picture])


def conv_features(x):
    return tf1.nn.avg_pool(conv(conv(x, 3, "f1"), 3, "f2"), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


@tutorial(train=False)
def deep_dream(feed):
    x = image(feed)
    score = tf1.reduce_mean(tf1.square(conv_features(x)[:, :, :, 1]))
    slope = tf1.gradients(score, x)[0]
    adversarial = tf1.clip_by_value(x + 0.01 * tf1.sign(slope), -1.0, 1.0)
    return [slope / (tf1.reduce_mean(tf1.abs(slope)) + 1e-8), adversarial], [], []


@tutorial
def siamese_triplet(feed):
    anchor, positive, negative = feed("anchor", [None, 5]), feed("positive", [None, 5]), feed("negative", [None, 5])

    def embedded(x):
        return tf1.nn.l2_normalize(dense(dense(x, 8, "a", tf.nn.relu), 4, "b"), 1)

    a, p, n = embedded(anchor), embedded(positive), embedded(negative)
    near, far = tf1.reduce_sum(tf1.squared_difference(a, p), 1), tf1.reduce_sum(tf1.squared_difference(a, n), 1)
    cosine = tf1.losses.cosine_distance(a, p, axis=1)
    loss = tf1.reduce_mean(tf1.maximum(near - far + 0.2, 0.0)) + cosine
    return [a, near], [loss], descend(loss)


@tutorial
def center_loss(feed):
    x, labels = feed("x", [None, 5]), labels_of(feed)
    features = dense(x, 2, "features")
    centers = tf1.get_variable("centers", [3, 2], initializer=tf1.zeros_initializer(), trainable=False)
    mine = tf1.gather(centers, labels)
    unique, places, counts = tf1.unique_with_counts(labels)
    times = tf1.cast(1 + tf1.reshape(tf1.gather(counts, places), [-1, 1]), tf.float32)
    update = tf1.scatter_sub(centers, labels, 0.5 * (mine - features) / times)
    loss = classified(dense(features, 3, "out"), labels) + 0.1 * tf1.nn.l2_loss(features - mine)
    with tf1.control_dependencies([update]):
        return [features], [loss], descend(loss)


@tutorial
def focal_loss(feed):
    x, y = feed("x", [None, 5]), feed("y", [None, 3], most=2)
    p = tf1.sigmoid(dense(x, 3, "out"))
    right = tf1.where(tf1.equal(y, 1), p, tf1.ones_like(p))
    wrong = tf1.where(tf1.equal(y, 0), p, tf1.zeros_like(p))
    loss = -tf1.reduce_sum(0.25 * tf1.pow(1.0 - right, 2.0) * tf1.log(right)) - tf1.reduce_sum(0.75 * tf1.pow(wrong, 2.0) * tf1.log(1.0 - wrong))
    return [p], [loss], adam(loss)


@tutorial
def capsules(feed):
    x, labels = feed("x", [None, 4, 3]), labels_of(feed)

    def squash(s):
        size = tf1.reduce_sum(tf1.square(s), -1, keep_dims=True)
        return size / (1 + size) * s / tf1.sqrt(size + 1e-7)

    w = tf1.tile(tf1.Variable(feed.array(1, 4, 3, 2, 3)), [8, 1, 1, 1, 1])
    u = tf1.squeeze(tf1.matmul(w, tf1.tile(tf1.reshape(x, [-1, 4, 1, 3, 1]), [1, 1, 3, 1, 1])), [4])
    b = tf1.zeros([8, 4, 3, 1])
    for _ in range(2):
        v = squash(tf1.reduce_sum(tf1.nn.softmax(b, axis=2) * u, axis=1, keepdims=True))
        b += tf1.reduce_sum(u * v, axis=-1, keepdims=True)
    length = tf1.sqrt(tf1.reduce_sum(tf1.square(tf1.squeeze(v, [1])), -1) + 1e-7)
    target = tf1.one_hot(labels, 3)
    margin = target * tf1.square(tf1.maximum(0.0, 0.9 - length)) + 0.5 * (1 - target) * tf1.square(tf1.maximum(0.0, length - 0.1))
    loss = tf1.reduce_mean(tf1.reduce_sum(margin, 1))
    return [length], [loss], adam(loss)


@tutorial
def spatial_transformer(feed):
    x, labels = image(feed, 6, 1), labels_of(feed)
    theta = tf1.reshape(dense(flat(x), 6, "theta", tf1.tanh), [-1, 2, 3])
    across, down = tf1.meshgrid(tf1.linspace(-1.0, 1.0, 6), tf1.linspace(-1.0, 1.0, 6))
    grid = tf1.stack([tf1.reshape(across, [-1]), tf1.reshape(down, [-1]), tf1.ones([36])])
    places = (tf1.matmul(theta, tf1.tile(grid[None], [8, 1, 1])) + 1.0) * 2.5
    low = tf1.cast(tf1.clip_by_value(tf1.floor(places), 0.0, 4.0), tf.int32)
    rows = tf1.tile(tf1.range(8)[:, None], [1, 36])
    taken = tf1.gather_nd(x, tf1.stack([rows, low[:, 1], low[:, 0]], -1))
    following = tf1.gather_nd(x, tf1.stack([rows, low[:, 1] + 1, low[:, 0]], -1))
    share = (places[:, 1] - tf1.cast(low[:, 1], tf.float32))[:, :, None]
    warped = (1 - share) * taken + share * following
    loss = classified(dense(flat(warped), 3, "out"), labels)
    return [warped], [loss], descend(loss)


@tutorial(train=False)
def image_preparation(feed):
    x = feed("image", [8, 8, 3], low=0)
    turned = tf1.image.flip_left_right(tf1.image.transpose_image(x))
    cut = tf1.image.resize_image_with_crop_or_pad(turned, 6, 10)
    bright = tf1.image.adjust_contrast(tf1.image.adjust_brightness(cut, 0.1), 1.5)
    whole = tf1.image.per_image_standardization(tf1.image.central_crop(x, 0.5))
    large = tf1.image.resize_bicubic(x[None], [12, 12])
    return [bright, whole, large, tf1.image.rgb_to_grayscale(x), tf1.saturate_cast(x * 300, tf.uint8)], [], []


@tutorial(train=False)
def image_colours(feed):
    x = feed("image", [8, 8, 3], low=0)
    return [tf1.image.adjust_saturation(tf1.image.adjust_hue(x, 0.1), 1.2)], [], []


@tutorial(train=False)
def image_resizing(feed):
    x = feed("image", [2, 6, 6, 3], low=0)
    boxes = tf1.constant([[0.1, 0.2, 0.8, 0.9]])
    sizes = [tf1.image.resize_bilinear(x, [9, 4], align_corners=True), tf1.image.resize_nearest_neighbor(x, [3, 7])]
    return [*sizes, tf1.image.resize_area(x, [3, 3]), tf1.image.crop_and_resize(x, boxes, [1], [4, 4])], [], []


@tutorial(train=False)
def detection_boxes(feed):
    corners = feed("boxes", [8, 2], low=0)
    boxes = tf1.concat([corners, corners + 0.5], 1)
    kept = tf1.image.non_max_suppression(boxes, feed("scores", [8], low=0), 4, 0.5)
    return [tf1.gather(boxes, kept), tf1.boolean_mask(boxes, boxes[:, 0] > 0.5)], [], []
