# SPDX-License-Identifier: Apache-2.0
"""TensorFlow takes the graph that the quickstart wrote."""

import tensorflow as tf
from google.protobuf import text_format

tf1 = tf.compat.v1


def test_import_graph_def_takes_graph_pbtxt(trained):
    graph_def = text_format.Parse((trained / "graph.pbtxt").read_text(), tf1.GraphDef())
    with tf1.Graph().as_default() as graph:
        tf1.import_graph_def(graph_def, name="")
    types = {node.type for node in graph.get_operations()}
    assert {"IteratorV2", "IteratorGetNext", "VariableV2", "MatMul", "ApplyAdam", "HistogramSummary", "ImageSummary"} <= types
    assert graph.get_tensor_by_name("loss:0").shape.rank == 0
    assert not [type for type in types if type.startswith("Trainhook")]
