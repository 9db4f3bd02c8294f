# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's files in a folder: bundles, and graphs as MetaGraphDefs."""

import dataclasses
import hashlib
import pathlib

import tensorflow as tf
from google.protobuf import message, text_format
from tensorflow.core.protobuf import saved_model_pb2

tf1 = tf.compat.v1


@dataclasses.dataclass
class Artefact:
    name: str  # the path below the folder
    kind: str  # bundle, meta, frozen, text or saved_model
    path: pathlib.Path  # of a bundle: its prefix


def find(folder):
    """All files that may be one, in order. Of several with the same bytes the first."""
    seen = set()
    for path in sorted(pathlib.Path(folder).rglob("*")):
        kind = {".index": "bundle", ".meta": "meta", ".pbtxt": "text", ".pb": "frozen"}.get(path.suffix)
        kind = "saved_model" if path.name == "saved_model.pb" else kind
        if kind is None or not path.is_file():
            continue
        digest = hashlib.sha256(path.read_bytes()).digest()
        prefix = path.with_suffix("")
        if kind == "bundle":
            digest += b"".join(hashlib.sha256(data.read_bytes()).digest() for data in sorted(path.parent.glob(prefix.name + ".data-*")))
        if digest in seen:
            continue
        seen.add(digest)
        yield Artefact(str(path.relative_to(folder)), kind, prefix if kind == "bundle" else path)


def meta_graph(artefact):
    """The MetaGraphDef of a graph, and the prefix of the checkpoint that belongs to it or None; None if the file is none of TensorFlow's graphs."""
    meta, checkpoint = tf1.MetaGraphDef(), None
    try:
        if artefact.kind == "meta":
            meta.ParseFromString(artefact.path.read_bytes())
            checkpoint = artefact.path.with_suffix("")
        elif artefact.kind == "saved_model":
            saved = saved_model_pb2.SavedModel.FromString(artefact.path.read_bytes())
            meta = next((each for each in saved.meta_graphs if "serve" in each.meta_info_def.tags), saved.meta_graphs[0])
            checkpoint = artefact.path.parent / "variables" / "variables"
        elif artefact.kind == "text":
            text_format.Parse(artefact.path.read_text(), meta.graph_def)
        else:
            meta.graph_def.ParseFromString(artefact.path.read_bytes())
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError, IndexError):
        return None
    if not meta.graph_def.node or not all(node.op for node in meta.graph_def.node):
        return None
    return meta, checkpoint if checkpoint and checkpoint.with_name(checkpoint.name + ".index").exists() else None
