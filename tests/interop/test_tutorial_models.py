# SPDX-License-Identifier: Apache-2.0
"""Models as tutorials and books write them for TensorFlow 1: frozen, they give here what they give in TensorFlow, and from the same checkpoint they
train to the same losses and variables. MISSING names those that do not run, and why; each of them has to fail with that reason."""

import pathlib
import pickle
import sys

import numpy as np
import pytest
import tensorflow as tf

import tutorials.basics
import tutorials.networks
import tutorials.sequences  # noqa: F401
from tutorials.models import MODELS

MISSING = {
    "frozen": {
        "conv_3d": "op type Conv3D of node",
        "counting_loop": "part of a while_loop",
        "detection_boxes": "op type NonMaxSuppressionV3 of node",
        "dynamic_rnn": "op type TensorArrayV3 of node",
        "gaussian_process": "op type MatrixDiagV3 of node",
        "image_colours": "op type AdjustHue of node",
        "image_preparation": "op type AdjustContrastv2 of node",
        "image_resizing": "op type ResizeArea of node",
        "mandelbrot": "op type ComplexAbs of node",
        "regression_by_cholesky": "op type Cholesky of node",
        "regression_by_inverse": "op type MatrixInverse of node",
        "scanned": "op type TensorArrayV3 of node",
        "sparse_features": "op type SparseSegmentMean of node",
        "sparse_product": "op type SparseTensorDenseMatMul of node",
        "unpooling_autoencoder": "op type MaxPoolWithArgmax of node",
        "word_table": "op type HashTableV2 of node",
    },
    "train": {
        "capsules": "a shape has at most 8 dimensions, not 10",
        "connectionist_temporal_classification": "op type CTCLoss of node",
        "conv_3d": "op type Conv3D of node",
        "dynamic_rnn": "op type TensorArrayV3 of node",
        "gaussian_process": "op type MatrixDiagV3 of node",
        "mandelbrot": "op type ComplexAbs of node",
        "queue_shuffled": "op type RandomShuffleQueueV2 of node",
        "scanned": "op type TensorArrayV3 of node",
        "sparse_features": "op type SparseSegmentMean of node",
        "sparse_product": "op type SparseTensorDenseMatMul of node",
        "unpooling_autoencoder": "op type MaxPoolWithArgmax of node",
    },
}
TOLERANCE = {"frozen": 1e-5, "train": 1e-4}


@pytest.fixture(scope="module")
def both(programs, run, tmp_path_factory):
    """What TensorFlow computes, and what we compute; by `model/part/tensor`."""
    folder = tmp_path_factory.mktemp("tutorials")
    run(sys.executable, "-W", "ignore", pathlib.Path(__file__).parent / "tutorials" / "write.py", folder)
    run(programs / "run_tutorials", folder)
    reader = tf.train.load_checkpoint(str(folder / "results"))
    ours = {name: np.asarray(reader.get_tensor(name)) for name in reader.get_variable_to_shape_map()}
    return pickle.loads((folder / "expected.pickle").read_bytes()), ours


PARTS = [(part, model) for part in MISSING for model, (_, keywords) in MODELS.items() if keywords.get(part, True)]


@pytest.mark.parametrize(("part", "model"), PARTS)
def test_model(both, deviation, part, model):
    prefix, (theirs, ours) = f"{model}/{part}/", both
    expected = {name: np.asarray(value) for name, value in theirs.items() if name.startswith(prefix)}
    error = ours.get(f"{prefix}error", np.asarray(b"")).item().decode()
    if model in MISSING[part]:
        assert expected and MISSING[part][model] in error
        return
    assert not error
    assert {name for name in ours if name.startswith(prefix)} == set(expected)
    for name, value in expected.items():
        deviation("tutorials", ours[name], value)
        if value.dtype.kind in "fc":
            np.testing.assert_allclose(ours[name], value, rtol=TOLERANCE[part], atol=TOLERANCE[part], err_msg=name)
        else:
            np.testing.assert_array_equal(ours[name], value, err_msg=name)


def test_most_of_them_run(measured):
    """So that the counts are seen, and cannot fall unnoticed."""
    for part, missing in MISSING.items():
        models = [model for of, model in PARTS if of == part]
        assert set(missing) <= set(models)
        measured(f"tutorials: {len(models) - len(missing)} of {len(models)} {part} graphs agree")
