# SPDX-License-Identifier: Apache-2.0
"""Measures what this library reads, imports, runs and trains of TensorFlow's files in a folder, compared with TensorFlow: measure.py <folder>
<folder of checkpoint, rewrite_checkpoint, list_unknown and run_imported> <table to write>. The folder may be the one of fetch.sh or any other.

A row of the table says of an artefact: reads (a bundle: TensorFlow finds every bit in a copy that we wrote), imports (a graph), runs (outputs for
made-up feeds are TensorFlow's), trains (so are the variables after three steps), and why not. "-": TensorFlow has no answer to compare with."""

import collections
import csv
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import tensorflow as tf

import artefacts
import truth

tf1 = tf.compat.v1
COLUMNS = ["artefact", "kind", "reads", "imports", "runs", "trains", "why"]
TIMEOUT = 240


class Failed(Exception):
    """One of our programs did not end 0."""


def run(program, *arguments):
    try:
        done = subprocess.run([str(PROGRAMS / program), *(str(each) for each in arguments)], capture_output=True, text=True, timeout=TIMEOUT,
                              check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"{program} ran for more than {TIMEOUT} s") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"{program} ended {done.returncode}"]
        raise Failed(next((line for line in lines if line.startswith(f"{program}: ")), lines[-1]).removeprefix(f"{program}: "))
    return done.stdout


def read_all(prefix):
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def write_bundle(prefix, tensors):
    with tf1.Graph().as_default() as graph, tf1.Session(graph=graph, config=truth.config()) as session:
        session.run(tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
                                      tensors=[tf.constant(value) for value in tensors.values()]))


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and (a == b).all() if a.dtype == object else a.tobytes() == b.tobytes() and a.dtype == b.dtype


def measure_bundle(artefact, scratch):
    """TensorFlow reads the same names, dtypes, shapes and bits from what we wrote of it."""
    try:
        expected = read_all(artefact.path)
    except (tf.errors.OpError, RuntimeError) as error:
        return {"reads": "-", "why": f"TensorFlow: {truth.said(error)}"}
    try:
        shown = {row["name"] for row in json.loads(run("checkpoint", "show", "--json", artefact.path))["tensors"]}
        run("checkpoint", "verify", artefact.path)
        run("rewrite_checkpoint", artefact.path, scratch / "copy", 0, 1 << 40)
    except Failed as error:
        return {"reads": "no", "why": str(error)}
    copied = read_all(scratch / "copy")
    if not expected.keys() == shown == copied.keys():
        return {"reads": "no", "why": f"names differ: {sorted(expected.keys() ^ (shown & copied.keys()))[:3]}"}
    wrong = [name for name, value in expected.items() if not same_bits(value, copied[name])]
    return {"reads": "no", "why": f"'{wrong[0]}' differs"} if wrong else {"reads": "yes"}


def ours(scratch, checkpoint, feeds, names, *arguments):
    """The values of outputs here; those that cannot be had are left out, and the first error is returned beside them."""
    common = ["run_imported", "--meta", scratch / "graph.meta", *arguments]
    if checkpoint:
        common += ["--restore", checkpoint]
    if feeds:
        write_bundle(scratch / "feeds", feeds)
        common += ["--feeds", scratch / "feeds"]

    def values(*wanted):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            run(*common, "--results", f"{folder}/results", *wanted)
            return read_all(f"{folder}/results")

    return truth.in_halves(lambda wanted: values(*wanted), names, Failed, time.monotonic() + TIMEOUT)


def compared(found, expected, problem):
    wrong = [name for name in found if not truth.same(found[name], expected[name])]
    equal = len(found) - len(wrong)
    return ("yes" if equal == len(expected) else f"{equal} of {len(expected)}" if equal else "no"), f"'{wrong[0]}' differs" if wrong else problem


def measure_graph(artefact, scratch):
    found = artefacts.meta_graph(artefact)
    if not found:
        return None
    meta, checkpoint = found
    restored = checkpoint if any(node.op in ("VarHandleOp", "VariableV2", "Variable") for node in meta.graph_def.node) else None
    (scratch / "graph.meta").write_bytes(meta.SerializeToString())
    row = {"unknown": {}}
    try:
        path = artefact.path if artefact.kind in ("frozen", "text", "meta") else scratch / "graph.meta"
        lines = [line.split(" ") for line in run("list_unknown", path).splitlines()]
        row |= {"imports": "yes", "unknown": {op: int(count) for op, count in lines if op != "nodes"}}
    except Failed as error:
        row |= {"imports": "no", "why": str(error)}
    try:
        session = truth.Truth(meta, checkpoint, artefact.path.parent if artefact.kind == "saved_model" else None)
        feeds, expected, problem = session.outputs()
    except (tf.errors.OpError, RuntimeError, ValueError, KeyError) as error:
        return row | {"runs": "-", "trains": "-", "why": row.get("why") or f"TensorFlow: {truth.said(error)}"}
    if not expected:
        return row | {"runs": "-", "trains": "-", "why": row.get("why") or f"TensorFlow: {problem}"}
    if row["imports"] == "no":
        return row | {"runs": "no"}
    found, problem = ours(scratch, restored, feeds, list(expected))
    row["runs"], row["why"] = compared(found, expected, problem)
    try:
        trained = session.train(feeds)
    except (tf.errors.OpError, ValueError) as error:
        return row | {"trains": "-", "why": row["why"] or f"TensorFlow trains: {truth.said(error)}"}
    if not trained:
        return row | {"trains": "-"}
    op, variables = trained
    expected = {f"{name}:0": value for name, value in variables.items()}
    found, problem = ours(scratch, restored, feeds, list(expected), "--train", op, "--steps", truth.STEPS)
    row["trains"], why = compared(found, expected, problem)
    return row | {"why": row["why"] or why}


def measure(artefact, pipe):
    with tempfile.TemporaryDirectory() as folder:
        pipe.send((measure_bundle if artefact.kind == "bundle" else measure_graph)(artefact, pathlib.Path(folder)))


def in_a_process(artefact):
    """As files may end or stop TensorFlow, too."""
    context = multiprocessing.get_context("fork")
    ours_end, theirs = context.Pipe()
    process = context.Process(target=measure, args=(artefact, theirs))
    process.start()
    theirs.close()
    try:
        return ours_end.recv() if ours_end.poll(900) else {"why": "stopped after 900 s"}
    except EOFError:
        return {"why": f"the process ended {process.exitcode}"}
    finally:
        process.kill()
        process.join()


def shape_of(problem):
    """A problem without the names in it, so that alike ones are counted together."""
    return re.sub(r"/\S+?: ", "", re.sub(r"'[^']*'", "'...'", problem))[:160]


def main(folder, table):
    rows, unknown, problems = [], collections.Counter(), collections.Counter()
    for artefact in artefacts.find(folder):
        result = in_a_process(artefact)
        if result is None:
            continue  # other protobufs have these endings, too
        unknown.update(result.pop("unknown", {}).keys())
        why = " ".join((result.get("why") or "").split())
        if why:
            problems[shape_of(why)] += 1
        rows.append({"artefact": artefact.name, "kind": artefact.kind, **result, "why": why})
        print("\t".join(rows[-1].get(column, "") for column in COLUMNS), flush=True)
    with open(table, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", restval="")
        writer.writeheader()
        writer.writerows(rows)
    print()
    for column in COLUMNS[2:6]:
        asked = [row[column] for row in rows if row.get(column, "-") != "-"]
        part = sum(each not in ("yes", "no") for each in asked)
        print(f"{column}: {asked.count('yes')} of {len(asked)}" + (f", {part} more in part" if part else ""))
    print("unknown op types, by the number of graphs that have them:", *(f"{op} {count}" for op, count in unknown.most_common()), sep="\n  ")
    print("problems:", *(f"{count} {problem}" for problem, count in problems.most_common()), sep="\n  ")


if __name__ == "__main__":
    PROGRAMS = pathlib.Path(sys.argv[2])
    tf1.disable_eager_execution()
    tf1.logging.set_verbosity(tf1.logging.ERROR)
    main(sys.argv[1], sys.argv[3])
