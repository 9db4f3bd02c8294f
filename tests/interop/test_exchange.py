# SPDX-License-Identifier: Apache-2.0
"""The module exchange/, beside the reference implementation of safetensors and NumPy: each reads what the other wrote, and ours writes their bytes."""

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

DTYPES = ["bool", "uint8", "int8", "int16", "uint16", "float16", "int32", "uint32", "float32", "float64", "int64", "uint64", "complex64"]


@pytest.fixture(scope="module")
def rewrite(programs, run):
    """rewrite("safetensors", from, to, max shard size), rewrite("npy", from, to), rewrite("cast", from, to, dtype)."""
    return lambda *words: run(programs / "rewrite_exchange", *words)


def numbers(dtype, shape, seed=0):
    random = np.random.default_rng(seed)
    bits = random.integers(0, 256, size=int(np.prod(shape)) * np.dtype(dtype).itemsize, dtype=np.uint8)
    return (bits % 2 if dtype == "bool" else bits).view(dtype).reshape(shape)


def tensors_of_every_dtype():
    tensors = {f"{dtype}/{len(shape)}": numbers(dtype, shape) for dtype in DTYPES for shape in [(), (3,), (2, 3, 4), (0, 5)]}
    tensors["bfloat16"] = numbers(ml_dtypes.bfloat16, (5, 7))
    tensors["a name: \u00e9 \u2028 \" \\ \n \x01 \x7f"] = np.arange(6, dtype=np.float32)
    return tensors


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape, name
        assert found[name].tobytes() == tensor.tobytes(), name


@pytest.mark.parametrize("metadata", [None, {"format": "np \u00e9"}])
def test_the_bytes_are_those_of_the_reference(rewrite, tmp_path, metadata):
    save_file(tensors_of_every_dtype(), tmp_path / "theirs.safetensors", metadata)
    rewrite("safetensors", tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors", 0)
    assert (tmp_path / "ours.safetensors").read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()
    assert_same(load_file(tmp_path / "ours.safetensors"), tensors_of_every_dtype())


def test_several_metadata_come_back(rewrite, tmp_path):
    metadata = {"step": "20000", "format": "pt", "": "empty"}
    save_file({"w": np.zeros(3, np.float32)}, tmp_path / "theirs.safetensors", metadata)
    rewrite("safetensors", tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors", 0)
    with safe_open(tmp_path / "ours.safetensors", "np") as file:
        assert file.metadata() == metadata


def test_shards_hold_everything_once(rewrite, tmp_path):
    tensors = tensors_of_every_dtype()
    save_file(tensors, tmp_path / "theirs.safetensors")
    rewrite("safetensors", tmp_path / "theirs.safetensors", tmp_path / "ours/model.safetensors", 500)
    index = json.loads((tmp_path / "ours/model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in tensors.values())
    files = sorted(set(index["weight_map"].values()))
    assert len(files) > 3 and files[0] == f"model-00001-of-{len(files):05d}.safetensors"
    found = {}
    for file in files:
        part = load_file(tmp_path / "ours" / file)
        assert all(index["weight_map"][name] == file for name in part)
        assert sum(tensor.nbytes for tensor in part.values()) <= 500 or len(part) == 1
        found.update(part)
    assert_same(found, tensors)
    for name in ("model.safetensors.index.json", "model.safetensors"):  # read by either name
        rewrite("safetensors", tmp_path / "ours" / name, tmp_path / "again.safetensors", 0)
        assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16"])
def test_casts_round_as_numpy_does(rewrite, tmp_path, source, target):
    random = np.random.default_rng(1)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.99, 65520, 2.0**-24, 2.0**-25, 2.0**-25 * 1.0001, 1 + 2.0**-11, 3.4e38]
    with np.errstate(all="ignore"):
        values = np.concatenate([numbers("float32", (20000,)).astype(np.float64), special,
                                 random.normal(size=20000) * 10.0 ** random.integers(-9, 6, size=20000)]).astype(np.dtype(source))
        # Numbers of 64 bits are rounded once here; through float32, as ml_dtypes does it, a few would be rounded twice.
        exact = values.astype(np.float32).astype(np.float64) == values.astype(np.float64)
        values = values if target == "float16" else values[exact | np.isnan(values)]
        expected = values.astype(np.dtype(target))
    save_file({"w": values, "n": np.arange(3)}, tmp_path / "theirs.safetensors")
    rewrite("cast", tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors", target)
    found = load_file(tmp_path / "ours.safetensors")
    assert found["w"].dtype == np.dtype(target) and found["n"].dtype == np.int64
    is_nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found["w"]), is_nan)
    assert np.array_equal(found["w"][~is_nan].view(np.uint16), expected[~is_nan].view(np.uint16))


@pytest.mark.parametrize("dtype", [*DTYPES, "complex128"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 5), (1, 1)])
def test_npy_has_the_bytes_of_numpy(rewrite, tmp_path, dtype, shape):
    np.save(tmp_path / "theirs.npy", numbers(dtype, shape))
    rewrite("npy", tmp_path / "theirs.npy", tmp_path / "ours.npy")
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_reads_every_version_and_order(rewrite, tmp_path, version):
    array = np.asfortranarray(numbers("float32", (2, 3, 4)))
    with open(tmp_path / "theirs.npy", "wb") as file:
        np.lib.format.write_array(file, array, version)
    rewrite("npy", tmp_path / "theirs.npy", tmp_path / "ours.npy")
    found = np.load(tmp_path / "ours.npy")
    assert found.flags.c_contiguous and found.tobytes() == array.tobytes()


def test_a_checkpoint_between_holds_the_same(programs, run, tmp_path):
    save_file(tensors_of_every_dtype(), tmp_path / "theirs.safetensors", {"format": "pt"})
    run(programs / "checkpoint", "import", tmp_path / "theirs.safetensors", tmp_path / "run/model.ckpt-1")
    run(programs / "checkpoint", "export", tmp_path / "run/model.ckpt-1", tmp_path / "ours.safetensors")
    assert (tmp_path / "ours.safetensors").read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()
    run(programs / "checkpoint", "export", tmp_path / "run/model.ckpt-1", tmp_path / "ours.npy", "--tensor", "float64/3")
    assert np.array_equal(np.load(tmp_path / "ours.npy").view(np.uint64), numbers("float64", (2, 3, 4)).view(np.uint64))


def test_shards_are_cut_as_hugging_face_reads_them(programs, run, tmp_path):
    save_file(tensors_of_every_dtype(), tmp_path / "theirs.safetensors")
    run(programs / "checkpoint", "import", tmp_path / "theirs.safetensors", tmp_path / "run/model.ckpt-1")
    run(programs / "checkpoint", "export", tmp_path / "run/model.ckpt-1", tmp_path / "ours/model.safetensors", "--max-shard-size", 300)
    index = json.loads((tmp_path / "ours/model.safetensors.index.json").read_text())
    for name, file in index["weight_map"].items():
        with safe_open(tmp_path / "ours" / file, "np") as shard:
            assert name in shard.keys() and shard.metadata() == {"format": "pt"}
