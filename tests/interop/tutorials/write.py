# SPDX-License-Identifier: Apache-2.0
"""Writes all models into a folder, and what TensorFlow computes with them: write.py <folder>. As in a program of TensorFlow 1, with its behaviour."""

import importlib
import pathlib
import pickle
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from tutorials.models import MODELS, STEPS, Feeds, tf1  # noqa: E402


def write_model(folder, name, build, keywords, lines, feeds, expected):
    with tf1.Graph().as_default() as graph, tf1.variable_scope("", use_resource=keywords.get("resources", False)):
        tf1.set_random_seed(3)
        feed = Feeds()
        outputs, losses, train = build(feed)
        variables = tf1.global_variables()
        init = tf1.global_variables_initializer()
        saver = tf1.train.Saver() if variables else None
    values = feed.values
    for tensor, steps in values.items():
        feeds.update({f"{name}/{step}/{tensor.name}": value for step, value in enumerate(steps)})
    lines.append(["feeds", name, *(tensor.name for tensor in values)])
    lines.append(["setup", name, *(operation.name for operation in feed.setup)])
    config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with tf1.Session(graph=graph, config=config) as session:
        session.run(init)
        if saver:
            saver.save(session, str(folder / name), write_meta_graph=False, write_state=False)
        session.run(feed.setup)
        first = {tensor: steps[0] for tensor, steps in values.items()}
        if keywords.get("frozen", True):
            lines.append(["frozen", name, *(output.name for output in outputs)])
            for output in outputs:
                expected[f"{name}/frozen/{output.name}"] = session.run(output, first)
            frozen = tf1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), [output.op.name for output in outputs])
            (folder / f"{name}.pb").write_bytes(frozen.SerializeToString())
        assert bool(train) == keywords.get("train", True), name
        if not train:
            return
        saver.export_meta_graph(str(folder / f"{name}.meta"))
        lines.append(["losses", name, *(loss.name for loss in losses)])
        lines.append(["train", name, *(operation.name for operation in train)])
        for step in range(STEPS):
            given = {tensor: steps[step] for tensor, steps in values.items()}
            for loss in losses:
                expected[f"{name}/train/{step}/{loss.name}"] = session.run(loss, given)
            for operation in train:
                session.run(operation, given)
        for variable in variables:
            expected[f"{name}/train/{variable.op.name}"] = session.run(variable)


def main(folder):
    tf1.disable_v2_behavior()
    for module in ("basics", "networks", "sequences"):
        importlib.import_module(f"tutorials.{module}")
    lines, feeds, expected = [], {}, {}
    for name, (build, keywords) in MODELS.items():
        write_model(folder, name, build, keywords, lines, feeds, expected)
    with tf1.Graph().as_default(), tf1.Session() as session:
        arrays = [np.asarray(value) for value in feeds.values()]
        holders = [tf1.placeholder(tf.string if value.dtype == object else value.dtype, value.shape) for value in arrays]
        save = tf1.raw_ops.SaveV2(prefix=str(folder / "feeds"), tensor_names=list(feeds), shape_and_slices=[""] * len(feeds), tensors=holders)
        session.run(save, dict(zip(holders, arrays)))
    (folder / "models.txt").write_text("".join(" ".join(line) + "\n" for line in lines))
    (folder / "expected.pickle").write_bytes(pickle.dumps(expected))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
