# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow makes of a graph: values of its outputs for made-up feeds, and its variables after some steps."""

import time

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
STEPS = 3
MOST_OUTPUTS = 40
SECONDS = 30  # for the search for feeds that fit
SIZES = (3, 1, 8, 64)  # of dimensions that a placeholder leaves open
NOT_COMPARED = ("Const", "Placeholder", "Variable", "VarHandle", "Assign", "Apply", "Resource", "Scatter", "Save", "Restore", "Random",
                "Truncated", "Multinomial", "Switch", "Enter", "Exit", "NextIteration", "LoopCond")


def config():
    return tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1, operation_timeout_in_ms=10000)


def not_compared(graph):
    """The ops between Enter and Exit, whose outputs have no single value, and what reads a change of a variable."""
    changes = ("Assign", "Apply", "ResourceApply", "Scatter", "ResourceScatter", "Enter", "RefEnter")
    found, waiting = set(), [op for op in graph.get_operations() if op.type.startswith(changes)]
    while waiting:
        op = waiting.pop()
        if op in found or op.type in ("Exit", "RefExit"):
            continue
        found.add(op)
        waiting += [reader for output in op.outputs for reader in output.consumers()] + op._control_outputs
    return found


def outputs_of(graph, meta):
    """The outputs of the signatures, what nothing reads, and some from all over the graph."""
    left_out = not_compared(graph)
    signatures = [info.name for signature in meta.signature_def.values() for info in signature.outputs.values()
                  if ":" in info.name and graph.get_tensor_by_name(info.name).op not in left_out]
    ops = [op for op in graph.get_operations()
           if op not in left_out and not op.type.startswith(NOT_COMPARED) and "save" not in op.name.split("/")[0]]
    everything = [output for op in ops for output in op.outputs if graph.is_fetchable(output) and not output.dtype._is_ref_dtype
                  and (output.dtype.is_floating or output.dtype.is_integer or output.dtype.is_bool)]
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


def said(error):
    """The first line that says something."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line and not line.endswith("error:") and not line.startswith("Detected at")), type(error).__name__)


def in_halves(get, names, errors, deadline):
    """get(names), a dictionary, of those names that it gives without one of the errors, asked for together where that works; and the last error."""
    if not names or time.monotonic() > deadline:
        return {}, "no time was left"
    try:
        return get(names), ""
    except errors as error:
        if len(names) == 1:
            return {}, said(error)
    left, first = in_halves(get, names[:len(names) // 2], errors, deadline)
    right, last = in_halves(get, names[len(names) // 2:], errors, deadline)
    return left | right, last or first


def values(session, names, feeds, deadline):
    """Of those outputs that can be had before the deadline, twice alike; and the last error."""
    def get(wanted):
        return dict(zip(wanted, session.run(wanted, feeds)))

    first, problem = in_halves(get, names, (tf.errors.OpError, ValueError, TypeError), deadline)
    second = get(list(first)) if first else {}
    return {name: value for name, value in first.items() if isinstance(value, (np.ndarray, np.generic)) and same(value, second[name])}, problem


class Truth:
    """The graph in a session of TensorFlow, its variables as the checkpoint has them."""

    def __init__(self, meta, checkpoint, saved_model):
        for node in meta.graph_def.node:  # those of TensorFlow 1's gradients contradict its shape functions of today
            node.attr.pop("_output_shapes", None)
        self.meta = meta
        if saved_model:
            try:
                self.load(saved_model, checkpoint)
                return
            except (tf.errors.OpError, ValueError):
                pass  # an asset is not here, or a device: what needs neither runs
        with tf1.Graph().as_default() as self.graph:
            saver = tf1.train.import_meta_graph(meta, clear_devices=True)
            self.session = tf1.Session(config=config())
            if checkpoint and saver:
                saver.restore(self.session, str(checkpoint))

    def load(self, saved_model, checkpoint):
        """With tables. Restores again, as some models have an op that runs after the restore and initializes variables."""
        with tf1.Graph().as_default() as self.graph:
            self.session = tf1.Session(config=config())
            tf1.saved_model.load(self.session, self.meta.meta_info_def.tags, str(saved_model))
            if checkpoint and self.meta.HasField("saver_def"):
                tf1.train.Saver(saver_def=self.meta.saver_def).restore(self.session, str(checkpoint))

    def outputs(self):
        """The feeds with which most outputs can be had, the values, and the last error."""
        names = outputs_of(self.graph, self.meta)
        deadline = time.monotonic() + SECONDS
        best = ({}, {}, "no output")
        for size in SIZES:
            feeds = feeds_of(self.graph, size)
            found, problem = values(self.session, names, feeds, deadline)
            if len(found) > len(best[1]) or not best[1]:
                best = (feeds, found, problem)
            if len(found) > 0.8 * len(names) or not feeds or time.monotonic() > deadline:
                break
        return best

    def train(self, feeds):
        """The op that trains and the variables after STEPS of it; None if there is none."""
        with self.graph.as_default():
            found = tf1.get_collection(tf1.GraphKeys.TRAIN_OP)
            variables = tf1.global_variables()
        if not found or not variables:
            return None
        before = self.read(variables)
        for _ in range(STEPS):
            self.session.run(found[0], feeds)
        return found[0].name.split(":")[0], {name: value for name, value in self.read(variables).items() if name in before}

    def read(self, variables):
        """Those that the checkpoint has."""
        found = {}
        for variable in variables:
            try:
                found[variable.op.name] = self.session.run(variable)
            except tf.errors.FailedPreconditionError:
                pass
        return found
