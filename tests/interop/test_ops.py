# SPDX-License-Identifier: Apache-2.0
"""Every op and every gradient of ours gives what TensorFlow's gives, in every dtype that it takes."""

import collections
import re

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1

Case = collections.namedtuple("Case", "id op mode init feeds outputs ys grads")
NOT_IN_TENSORFLOW = {"Tile.uint16"}  # which has no kernel for these
TOLERANCE = {"float32": (2e-5, 1e-5), "float64": (1e-12, 1e-12)}  # relative, absolute


def names(field):
    return field.split(",") if field else []


def pairs(field):
    return [tuple(item.split("=")) for item in names(field)]


@pytest.fixture(scope="module")
def cases(programs, run, tmp_path_factory):
    """cases(mode): the cases of one mode, each with its graph imported, its feeds and our results."""
    folder = tmp_path_factory.mktemp("ops")
    print(run(programs / "write_op_cases", folder))
    values = tf.train.load_checkpoint(str(folder / "values"))
    listed = []
    for line in (folder / "cases.tsv").read_text().splitlines():
        case_id, op, mode, init, feeds, outputs, ys, grads = line.split("\t")
        listed.append(Case(case_id, op, mode, init, names(feeds), names(outputs), pairs(ys), pairs(grads)))

    def select(mode):
        for case in listed:
            if case.mode != mode:
                continue
            graph_def = tf1.GraphDef.FromString((folder / f"{case.id}.pb").read_bytes())
            with tf1.Graph().as_default() as graph:
                tf1.import_graph_def(graph_def, name="")
            feeds = {name: values.get_tensor(f"{case.id}/{name}") for name in case.feeds}
            yield case, graph, feeds, [values.get_tensor(f"{case.id}/result/{i}") for i in range(len(case.outputs)) if mode != "import"]

    return select


def session(graph):
    return tf1.Session(graph=graph, config=tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))


def difference(ours, theirs):
    """The reason why two results are not the same, or nothing."""
    theirs = np.asarray(theirs)
    if ours.shape != theirs.shape or (ours.dtype != theirs.dtype and ours.dtype != object):
        return f"{ours.dtype}{ours.shape} is not {theirs.dtype}{theirs.shape}"
    if str(ours.dtype) in TOLERANCE:
        relative, absolute = TOLERANCE[str(ours.dtype)]
        same = np.allclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)
    else:
        same = np.array_equal(ours, theirs)
    return None if same else f"{ours} is not {theirs}"


def report(failures, count):
    assert count > 0
    assert not failures, f"{len(failures)} of {count} differ:\n" + "\n".join(failures[:20])


def test_values_are_those_of_tensorflow(cases, deviation):
    failures, count = [], 0
    for case, graph, feeds, ours in cases("values"):
        if case.id.rpartition(".")[0] in NOT_IN_TENSORFLOW:
            continue
        with session(graph) as run:
            try:
                theirs = run.run(case.outputs, feeds)
            except tf.errors.OpError as error:
                failures.append(f"{case.id}: {error.message[:200]}")
                continue
        for name, a, b in zip(case.outputs, ours, theirs):
            count += 1
            deviation("ops", a, b)
            if problem := difference(a, b):
                failures.append(f"{case.id} {name}: {problem}")
    report(failures, count)


def test_gradients_are_those_that_tensorflow_derives(cases, deviation):
    failures, count = [], 0
    for case, graph, feeds, ours in cases("values"):
        if not case.grads:
            continue
        with graph.as_default():
            ys, weights = [y for y, _ in case.ys], [weight for _, weight in case.ys]
            tensors = [[graph.get_tensor_by_name(name) for name in group] for group in (ys, [x for x, _ in case.grads], weights)]
            theirs = tf1.gradients(tensors[0], tensors[1], grad_ys=tensors[2])
        for (x, name), derived in zip(case.grads, theirs):
            count += 1
            if derived is None:
                failures.append(f"{case.id} for {x}: TensorFlow has no gradient")
                continue
            with session(graph) as run:
                expected = run.run(tf.convert_to_tensor(derived), feeds)
            deviation("gradients", ours[case.outputs.index(name)], expected)
            problem = difference(ours[case.outputs.index(name)], expected)
            if problem:
                failures.append(f"{case.id} for {x}: {problem}")
    report(failures, count)


def test_steps_change_variables_as_tensorflow_does(cases, deviation):
    failures, count = [], 0
    for case, graph, feeds, ours in cases("steps"):
        with session(graph) as run:
            try:
                run.run(case.init)
                theirs = [run.run(name, feeds) for name in case.outputs]
            except tf.errors.OpError as error:
                failures.append(f"{case.id}: {error.message[:200]}")
                continue
        for name, a, b in zip(case.outputs, ours, theirs):
            count += 1
            deviation("ops with state", a, b)
            if problem := difference(a, b):
                failures.append(f"{case.id} {name}: {problem}")
    report(failures, count)


def test_random_numbers_are_distributed_as_tensorflows_are(cases):
    failures, count = [], 0
    for case, graph, feeds, ours in cases("drawn"):
        with session(graph) as run:
            theirs = run.run(case.outputs, feeds)
        for a, b in zip(ours, theirs):
            count += 1
            if a.dtype != b.dtype or a.shape != b.shape:
                failures.append(f"{case.id}: {a.dtype}{a.shape} is not {b.dtype}{b.shape}")
                continue
            error = b.std() / np.sqrt(a.size)
            if abs(a.mean() - b.mean()) > 8 * error or abs(a.std() - b.std()) > 8 * error:
                failures.append(f"{case.id}: mean {a.mean()}, deviation {a.std()}; TensorFlow's {b.mean()}, {b.std()}")
            if a.min() < b.min() - b.std() or a.max() > b.max() + b.std():
                failures.append(f"{case.id}: from {a.min()} to {a.max()}; TensorFlow's from {b.min()} to {b.max()}")
    report(failures, count)


def summary_difference(ours, theirs):
    ours, theirs = tf1.Summary.FromString(ours), tf1.Summary.FromString(theirs)
    if [value.tag for value in ours.value] != [value.tag for value in theirs.value]:
        return f"tags {[value.tag for value in ours.value]} are not {[value.tag for value in theirs.value]}"
    for a, b in zip(ours.value, theirs.value):
        kind = b.WhichOneof("value")
        if a.WhichOneof("value") != kind or a.metadata != b.metadata:
            return f"{a.tag}: {a} is not {b}"
        if kind == "simple_value" and not np.isclose(a.simple_value, b.simple_value, rtol=1e-6):
            return f"{a.tag}: {a.simple_value} is not {b.simple_value}"
        if kind == "histo":
            for field in ("min", "max", "num", "sum", "sum_squares", "bucket_limit", "bucket"):
                if not np.allclose(getattr(a.histo, field), getattr(b.histo, field), rtol=1e-9, atol=1e-9):
                    return f"{a.tag}: {field} {getattr(a.histo, field)} is not {getattr(b.histo, field)}"
        if kind == "image":
            pixels = [tf.io.decode_png(image.image.encoded_image_string).numpy().astype(int) for image in (a, b)]
            if pixels[0].shape != pixels[1].shape or np.abs(pixels[0] - pixels[1]).max() > 1:  # the last digit before truncation
                return f"{a.tag}: {pixels[0]} is not {pixels[1]}"
        if kind == "tensor" and not np.array_equal(tf.make_ndarray(a.tensor), tf.make_ndarray(b.tensor)):
            return f"{a.tag}: {a.tensor} is not {b.tensor}"
    return None


def test_summaries_say_what_tensorflows_say(cases):
    failures, count = [], 0
    for case, graph, feeds, ours in cases("summary"):
        with session(graph) as run:
            try:
                theirs = run.run(case.outputs, feeds)
            except tf.errors.OpError as error:
                failures.append(f"{case.id}: {error.message[:200]}")
                continue
        for a, b in zip(ours, theirs):
            count += 1
            if problem := summary_difference(a if isinstance(a, bytes) else a.item(), b):
                failures.append(f"{case.id}: {problem}")
    report(failures, count)


def test_what_cannot_run_there_is_imported(cases):
    assert [case.id for case, graph, _, _ in cases("import") if graph.get_operations()]


# What TensorFlow imports although no run can succeed, or although only its own kernels can run it; here it is refused at once.
REFUSED_ONLY_HERE = {
    "ApplyFtrlV2": "the power must be a scalar",
    "ArgMax": "a scalar has no axis",
    "ArgMin": "a scalar has no axis",
    "AvgPool": "windows must not be empty",
    "ConcatOffset": "shapes must have one rank",
    "Const": "the value must be of the dtype",
    "Conv2DBackpropInput": "the shape must have four dimensions",
    "InTopKV2": "k must be a scalar",
    "MatrixBandPart": "the bounds must be scalars",
    "MaxPool": "windows must not be empty",
    "OneHot": "the axis must exist, and the values be scalars",
    "QueueDequeueManyV2": "the number must be a scalar",
    "ReciprocalGrad": "both must have one shape",
    "ReverseSequence": "a dimension must not be negative",
    "RsqrtGrad": "both must have one shape",
    "ScatterAdd": "a scalar has no rows",
    "ScatterSub": "a scalar has no rows",
    "ScatterUpdate": "a scalar has no rows",
    "SelectV2": "all three must broadcast",
    "SigmoidGrad": "both must have one shape",
    "Slice": "the slice must lie in the tensor",
    "SoftmaxCrossEntropyWithLogits": "labels are not broadcast here",
    "SparseApplyFtrlV2": "the power must be a scalar",
    "Split": "the axis must be a scalar",
    "SplitV": "the axis must be a scalar, and each part have a size",
    "SqrtGrad": "both must have one shape",
    "TanhGrad": "both must have one shape",
    "Tile": "a multiple must not be negative",
    "TopKV2": "k must be a scalar",
    "Transpose": "the permutation must be a vector",
}
# Only TensorFlow has kernels of these for some more integers or complex numbers, or narrower indices.
DTYPES_ONLY_THERE = {"ArgMax", "ArgMin", "Cast", "Conv2D", "Conv2DBackpropInput", "GatherV2", "MaxPool", "MaxPoolGrad", "OneHot",
                     "Reciprocal", "Relu", "Relu6", "Relu6Grad", "ReluGrad", "Sigmoid", "SigmoidGrad", "SplitV", "StridedSlice",
                     "Tanh", "TanhGrad", "UnsortedSegmentSum"}
REFUSED_ONLY_THERE = {"SplitV": "an axis that is unknown before the run is taken for the last one"}
# Either side knows more of these shapes than the other.
KNOWN_ELSEWHERE = {"ConcatOffset", "QueueDequeueManyV2", "QueueDequeueV2", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad",
                   "StridedSlice", "TanhGrad", "Transpose"}


def dims(shape):
    return None if shape == "<unknown>" else [None if dim == "?" else int(dim) for dim in shape.strip("[]").split(",") if dim]


def test_static_shapes_and_refusals_are_those_of_tensorflow(programs, run, tmp_path):
    print(run(programs / "write_shape_cases", tmp_path))
    failures, count = [], 0
    refused, dtypes, refused_there, known_elsewhere = set(), set(), set(), set()
    for line in (tmp_path / "cases.tsv").read_text().splitlines():
        number, op, shapes, error, graph_def = line.split("\t")
        graph_def = tf1.GraphDef.FromString(bytes.fromhex(graph_def))
        case = f"{op} {number}"
        count += 1
        try:
            with tf1.Graph().as_default() as graph:
                tf1.import_graph_def(graph_def, name="")
        except ValueError as problem:
            if not error:
                refused_there.add(op)
                if op not in REFUSED_ONLY_THERE:
                    failures.append(f"{case}: {shapes}, but TensorFlow refuses: {str(problem)[:200]}")
            continue
        theirs = [output.shape for output in graph.get_operation_by_name("node").outputs]
        if error:
            is_dtype = re.search(r"must be (of )?(u?int|bool|a floating|a numeric)", error)
            (dtypes if is_dtype else refused).add(op)
            if op not in (DTYPES_ONLY_THERE if is_dtype else REFUSED_ONLY_HERE):
                failures.append(f"{case}: TensorFlow gives {theirs}: {error}")
            continue
        ours = [tf.TensorShape(dims(shape)) for shape in shapes.split()]
        if [str(shape) for shape in ours] != [str(shape) for shape in theirs]:
            known_elsewhere.add(op)
            if op not in KNOWN_ELSEWHERE or not all(a.is_compatible_with(b) for a, b in zip(ours, theirs, strict=True)):
                failures.append(f"{case}: {ours} is not {theirs}")
    report(failures, count)
    listed = [set(REFUSED_ONLY_HERE), DTYPES_ONLY_THERE, set(REFUSED_ONLY_THERE), KNOWN_ELSEWHERE]
    assert [refused, dtypes, refused_there, known_elsewhere] == listed  # else the lists above are out of date
