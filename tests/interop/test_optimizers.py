# SPDX-License-Identifier: Apache-2.0
"""Every optimizer of ours against the one of its name in TensorFlow: 50 steps from the same variables on the same numbers, then the same
variables and slots, under the same names."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
train = tf1.train
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
OPTIMIZERS = {
    "GradientDescent": lambda: train.GradientDescentOptimizer(0.05),
    "Momentum": lambda: train.MomentumOptimizer(0.02, 0.9),
    "Nesterov": lambda: train.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
    "Adagrad": lambda: train.AdagradOptimizer(0.1),
    "RMSProp": lambda: train.RMSPropOptimizer(0.01),
    "RMSPropMomentum": lambda: train.RMSPropOptimizer(0.01, decay=0.8, momentum=0.5, epsilon=1e-3),
    "CenteredRMSProp": lambda: train.RMSPropOptimizer(0.01, momentum=0.3, centered=True),
    "Adam": lambda: train.AdamOptimizer(0.02),
    "AdamTuned": lambda: train.AdamOptimizer(0.02, beta1=0.7, beta2=0.95, epsilon=1e-2),
}


def numbers(dtype, shape, step, scale):
    """Those of write_models.cpp."""
    i = np.arange(np.prod(shape))
    return (((i * 7 + step * 3) % 11 - 5) * scale).astype(dtype.as_numpy_dtype).reshape(shape)


def of_tensorflow(optimizer, dtype):
    """step -> variable -> value."""
    found = {}
    with tf1.Graph().as_default() as graph, tf1.variable_scope("", use_resource=False):
        step = train.get_or_create_global_step()
        x, y = tf1.placeholder(dtype, [4, 5]), tf1.placeholder(dtype, [4, 3])
        w = tf1.get_variable("w", initializer=numbers(dtype, [5, 3], 1, 0.125))
        b = tf1.get_variable("b", initializer=numbers(dtype, [3], 2, 0.25))
        op = optimizer().minimize(tf.reduce_mean(tf.square(tf.nn.bias_add(tf.matmul(x, w), b) - y)), step)
        variables = tf1.global_variables()
        init = tf1.global_variables_initializer()
    with tf1.Session(graph=graph, config=tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)) as session:
        session.run(init)
        for i in range(1, 51):
            session.run(op, {x: numbers(dtype, [4, 5], i, 0.25), y: numbers(dtype, [4, 3], 2 * i, 0.5)})
            if i in (1, 50):
                found[str(i)] = dict(zip([variable.op.name for variable in variables], session.run(variables)))
    return found


@pytest.fixture(scope="module")
def ours(programs, run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("optimizers")
    run(programs / "write_models", folder)
    reader = tf.train.load_checkpoint(str(folder / "optimizers"))
    found = {}
    for key in reader.get_variable_to_shape_map():
        case, step, variable = key.split("/", 2)
        found.setdefault(case, {}).setdefault(step, {})[variable] = reader.get_tensor(key)
    assert found.keys() == {f"{name}.{dtype}" for name in OPTIMIZERS for dtype in ("float32", "float64")}
    return found


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_variables_and_slots_are_those_of_tensorflow(ours, deviation, name, dtype):
    case, theirs = ours[f"{name}.{dtype.name}"], of_tensorflow(OPTIMIZERS[name], dtype)
    assert case.keys() == theirs.keys() == {"1", "50"}
    for step, variables in theirs.items():
        assert case[step].keys() == variables.keys()
        for variable, expected in variables.items():
            actual = case[step][variable]
            assert actual.dtype == expected.dtype and actual.shape == expected.shape
            deviation("optimizers", actual, expected)
            if expected.dtype in TOLERANCE:
                np.testing.assert_allclose(actual, expected, rtol=TOLERANCE[expected.dtype], atol=TOLERANCE[expected.dtype], err_msg=f"{variable} {step}")
            else:
                assert np.array_equal(actual, expected)
    assert not np.array_equal(theirs["1"]["w"], theirs["50"]["w"])
