# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow makes of a graph: values of its outputs for made-up feeds, and its variables after some steps."""

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
STEPS = 3
MOST_OUTPUTS = 40
SIZES = (3, 1, 8, 64)  # of dimensions that a placeholder leaves open
NOT_COMPARED = ("Const", "Placeholder", "Variable", "VarHandle", "Assign", "Apply", "Resource", "Scatter", "Save", "Restore", "Random",
                "Truncated", "Multinomial", "Switch", "Enter", "Exit", "NextIteration", "LoopCond")


def config():
    return tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1, operation_timeout_in_ms=20000)


def outputs_of(graph, meta):
    """The outputs of the signatures, what nothing reads, and some from all over the graph."""
    signatures = [info.name for signature in meta.signature_def.values() for info in signature.outputs.values() if info.name]
    everything = [output for op in graph.get_operations() if not op.type.startswith(NOT_COMPARED) and "save" not in op.name.split("/")[0]
                  for output in op.outputs if graph.is_fetchable(output) and (output.dtype.is_floating or output.dtype.is_integer or output.dtype.is_bool)
                  and not output.dtype._is_ref_dtype]
    ends = [output.name for output in everything if not output.consumers()]
    others = [output.name for output in everything if output.consumers()]
    chosen = list(dict.fromkeys(signatures + ends))[:MOST_OUTPUTS // 2]
    step = max(1, len(others) // (MOST_OUTPUTS - len(chosen)))
    return list(dict.fromkeys(chosen + others[::step]))[:MOST_OUTPUTS]


def feeds_of(graph, size):
    random = np.random.default_rng(7)
    feeds = {}
    for op in graph.get_operations():
        if op.type != "Placeholder":
            continue
        output = op.outputs[0]
        shape = [] if output.shape.rank is None else [size if length is None else length for length in output.shape.as_list()]
        dtype = output.dtype.as_numpy_dtype
        if output.dtype == tf.string:
            feeds[output.name] = np.full(shape, b"def main(): return 1", object)
        elif output.dtype.is_bool:
            feeds[output.name] = np.zeros(shape, bool)
        elif output.dtype.is_floating:  # a scalar is often a rate of dropout: nothing is dropped
            feeds[output.name] = np.ones((), dtype) if not shape else random.uniform(0, 1, shape).astype(dtype)
        elif output.dtype.is_integer:
            feeds[output.name] = np.ones((), dtype) if not shape else random.integers(0, 2, shape).astype(dtype)
    return feeds


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        tolerance = 1e-10 if a.dtype == np.float64 else 1e-4
        return np.allclose(a, b, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    return np.array_equal(a, b)


def values(session, names, feeds):
    """Of those outputs that can be had, twice alike."""
    def once():
        try:
            return dict(zip(names, session.run(names, feeds)))
        except (tf.errors.OpError, ValueError, TypeError):
            found = {}
            for name in names:
                try:
                    found[name] = session.run(name, feeds)
                except (tf.errors.OpError, ValueError, TypeError) as error:
                    values.error = str(error).splitlines()[0]
            return found

    first, second = once(), once()
    return {name: value for name, value in first.items() if isinstance(value, (np.ndarray, np.generic)) and name in second and same(value, second[name])}


class Truth:
    """The graph in a session of TensorFlow, its variables as the checkpoint has them."""

    def __init__(self, meta, checkpoint, saved_model):
        with tf1.Graph().as_default() as self.graph:
            if saved_model:
                self.session = tf1.Session(config=config())
                self.meta = tf1.saved_model.load(self.session, meta.meta_info_def.tags, str(saved_model))
                return
            saver = tf1.train.import_meta_graph(meta, clear_devices=True)
            self.meta = meta
            self.session = tf1.Session(config=config())
            if checkpoint:
                saver.restore(self.session, str(checkpoint))
                for table in tf1.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS):
                    try:
                        self.session.run(table)
                    except tf.errors.OpError:
                        pass  # reads a file that is not here

    def outputs(self):
        """The feeds with which most outputs can be had, and the values."""
        names = outputs_of(self.graph, self.meta)
        best = ({}, {})
        for size in SIZES:
            feeds = feeds_of(self.graph, size)
            found = values(self.session, names, feeds)
            if len(found) > len(best[1]):
                best = (feeds, found)
            if len(found) == len(names) or not feeds:
                break
        return best

    def train(self, feeds):
        """The op that trains and the variables after STEPS of it; None if there is none."""
        with self.graph.as_default():
            found = tf1.get_collection(tf1.GraphKeys.TRAIN_OP)
            variables = tf1.global_variables()
        if not found or not variables:
            return None
        for _ in range(STEPS):
            self.session.run(found[0], feeds)
        return found[0].name.split(":")[0], {variable.op.name: self.session.run(variable) for variable in variables}
