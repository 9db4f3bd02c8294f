#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What each command of the example `checkpoint` prints and how it ends, on small runs: checkpoint.sh <checkpoint> <train_small_run>
set -euo pipefail
checkpoint=$(realpath "$1")
train=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0

# says <exit code> <arguments>...: compares what the command prints, both streams, with standard input. Ages become "AGE".
says() {
  local expected=$1 status=0
  shift
  "$checkpoint" "$@" >output 2>&1 || status=$?
  sed -E -e 's/ +[0-9]+(\.[0-9])? s  / AGE  /' -e 's/ +age +/ AGE    /' -e 's/"age_seconds": [0-9.]+/"age_seconds": AGE/' \
    -e 's/ range \[1 - 1000000\]/ range 1 to 1000000/' output >said
  cat >expected
  if [ "$status" != "$expected" ]; then
    echo "checkpoint $*: ended $status, not $expected"
    failures=$((failures + 1))
  fi
  diff -u expected said || { echo "checkpoint $*: said something else"; failures=$((failures + 1)); }
}

"$train" run 35 0.5 0 2>/dev/null
"$train" other 35 0.25 0 2>/dev/null
"$train" broken 10 nan 0 2>/dev/null
"$train" curves 35 0.5 5 2>/dev/null

# In directory run: a copy by hand, what a killed save left, data without index, an input without its model.
for file in run/model.ckpt-0.*; do cp "$file" "run/copy-0.${file#run/model.ckpt-0.}"; done
touch run/model.ckpt-40.index.tempstate123 run/model.ckpt-7.data-00000-of-00001
for file in run/input.ckpt-10.*; do cp "$file" "run/input.ckpt-11.${file#run/input.ckpt-10.}"; done

says 0 list run <<'END'
run: 6 checkpoints
checkpoint     step AGE    size  tensors  input          state
copy-0            0 AGE  238 B        4  input.ckpt-0   not listed: stays
model.ckpt-0      0 AGE  238 B        4  input.ckpt-0   listed
model.ckpt-10    10 AGE  238 B        4  input.ckpt-10  listed
model.ckpt-20    20 AGE  238 B        4  input.ckpt-20  listed
model.ckpt-30    30 AGE  238 B        4  input.ckpt-30  listed
model.ckpt-35    35 AGE  238 B        4  input.ckpt-35  newest
left over: input.ckpt-11 has no model of its step
left over: model.ckpt-40.index.tempstate123, of a save that goes on or was killed; the next training removes it if trainhook wrote it
incomplete: model.ckpt-7.data-00000-of-00001 belongs to no checkpoint, because there is no model.ckpt-7.index
END
says 0 list --json broken <<'END'
{"directory": "broken", "newest": "broken/model.ckpt-10", "checkpoints": [
  {"name": "model.ckpt-0", "step": 0, "age_seconds": AGE, "bytes": 238, "tensors": 4, "input": "input.ckpt-0", "state": "listed"},
  {"name": "model.ckpt-10", "step": 10, "age_seconds": AGE, "bytes": 238, "tensors": 4, "input": "input.ckpt-10", "state": "newest"}],
"notes": []}
END
says 2 list none <<'END'
checkpoint: there is no directory none; give the one that a training saves into
END

says 0 show run <<'END'
run/model.ckpt-35: 4 tensors, 40 B
tensor       dtype    shape  count  size   min   max  mean  NaN  inf
global_step  int64    []         1   8 B
mean         float64  [1]        1   8 B  17.5  17.5  17.5    0    0
seen         int64    []         1   8 B
weights      float32  [4]        4  16 B  17.5  17.5  17.5    0    0
END
says 0 show broken/model.ckpt-0 --json <<'END'
{"checkpoint": "broken/model.ckpt-0", "tensors": [
  {"name": "global_step", "dtype": "int64", "shape": "[]", "count": 1, "bytes": 8, "min": null, "max": null, "mean": null, "nan": null, "inf": null},
  {"name": "mean", "dtype": "float64", "shape": "[1]", "count": 1, "bytes": 8, "min": 0, "max": 0, "mean": 0, "nan": 0, "inf": 0},
  {"name": "seen", "dtype": "int64", "shape": "[]", "count": 1, "bytes": 8, "min": null, "max": null, "mean": null, "nan": null, "inf": null},
  {"name": "weights", "dtype": "float32", "shape": "[4]", "count": 4, "bytes": 16, "min": 0, "max": 0, "mean": 0, "nan": 0, "inf": 0}],
"notes": []}
END
says 0 show broken <<'END'
broken/model.ckpt-10: 4 tensors, 40 B
tensor       dtype    shape  count  size  min  max  mean  NaN  inf
global_step  int64    []         1   8 B
mean         float64  [1]        1   8 B                    1    0
seen         int64    []         1   8 B
weights      float32  [4]        4  16 B                    4    0
END
says 0 show run/model.ckpt-20 weights <<'END'
float32[4] [10 10 10 10]
END
for ending in index meta data-00000-of-00001; do
  says 2 show "run/model.ckpt-20.$ending" <<END
checkpoint: there is no checkpoint run/model.ckpt-20.$ending: that names a file of one; give its path without .$ending
END
done
says 2 show run/model.ckpt-25 <<'END'
checkpoint: there is no checkpoint run/model.ckpt-25: run/model.ckpt-25.index does not exist
END

says 0 diff run run/model.ckpt-35 <<'END'
A run/model.ckpt-35
B run/model.ckpt-35
0 of 4 tensors differ
tensor       result  max |A - B|  elements
global_step  equal
mean         equal
seen         equal
weights      equal
END
says 1 diff run/model.ckpt-30 other <<'END'
A run/model.ckpt-30
B other/model.ckpt-35
4 of 4 tensors differ
tensor       result     max |A - B|  elements
global_step  different            5         1
mean         different         6.25         1
seen         different          160         1
weights      different         6.25         4
END
says 1 diff run/input.ckpt-0 other <<'END'
A run/input.ckpt-0
B other/model.ckpt-35
5 of 5 tensors differ
tensor            result     max |A - B|  elements
IteratorV2-state  only in A
global_step       only in B
mean              only in B
seen              only in B
weights           only in B
END
says 1 diff --json run/model.ckpt-10 broken <<'END'
{"a": "run/model.ckpt-10", "b": "broken/model.ckpt-10", "equal": false, "tensors": [
  {"name": "global_step", "result": "equal", "max_difference": null, "elements": null},
  {"name": "mean", "result": "different", "max_difference": "nan", "elements": 1},
  {"name": "seen", "result": "equal", "max_difference": null, "elements": null},
  {"name": "weights", "result": "different", "max_difference": "nan", "elements": 4}],
"notes": []}
END

says 0 average mean/of-both run other <<'END'
mean/of-both: 2 tensors with the mean of 2 checkpoints, 2 from other/model.ckpt-35
END
says 0 show mean/of-both weights <<'END'
float32[4] [13.125 13.125 13.125 13.125]
END
says 2 average mean/of-both run other <<'END'
checkpoint: checkpoint mean/of-both exists; choose another prefix, or set BundleWriterOptions::overwrite
END
says 2 average mean/more run run/input.ckpt-0 <<'END'
checkpoint: checkpoint run/input.ckpt-0 has no tensor global_step; it holds: IteratorV2-state
END
[ ! -e mean/more.index ] || { echo "checkpoint average: left a checkpoint behind"; failures=$((failures + 1)); }

# Files for other programs, and back.
says 0 export run out/model.safetensors --rename weights=net.weights --dtype bfloat16 <<'END'
out/model.safetensors: 4 tensors of run/model.ckpt-35
END
says 0 export run out/weights.safetensors --only weights <<'END'
out/weights.safetensors: 1 tensor of run/model.ckpt-35
END
says 0 import out/model.safetensors out/model.ckpt-1 --rename net.= <<'END'
out/model.ckpt-1: 4 tensors of out/model.safetensors
END
says 0 show out/model.ckpt-1 <<'END'
out/model.ckpt-1: 4 tensors, 26 B
tensor       dtype     shape  count  size   min   max  mean  NaN  inf
global_step  int64     []         1   8 B
mean         bfloat16  [1]        1   2 B  17.5  17.5  17.5    0    0
seen         int64     []         1   8 B
weights      bfloat16  [4]        4   8 B  17.5  17.5  17.5    0    0
END
says 0 export run/input.ckpt-0 out/input.safetensors <<'END'
out/input.safetensors: 0 tensors of run/input.ckpt-0
left out, because they are texts, complex128 or the state of hooks: IteratorV2-state
END
says 0 export run out/parts.safetensors --max-shard-size 20 <<'END'
out/parts.safetensors: 4 tensors of run/model.ckpt-35
END
says 0 import out/parts.safetensors out/model.ckpt-2 <<'END'
out/model.ckpt-2: 4 tensors of out/parts.safetensors
END
says 0 diff run out/model.ckpt-2 <<'END'
A run/model.ckpt-35
B out/model.ckpt-2
0 of 4 tensors differ
tensor       result  max |A - B|  elements
global_step  equal
mean         equal
seen         equal
weights      equal
END
says 2 export run out/parts.safetensors --max-shard-size 20 <<'END'
checkpoint: write_safetensors: out/parts.safetensors.index.json exists, and shards replace no other file; move it away, or give another name
END
says 0 export run out/weights.npy --tensor weights <<'END'
out/weights.npy: float32[4] of run/model.ckpt-35
END
[ "$(tail -c 16 out/weights.npy | od -An -tf4 | tr -s ' ')" = ' 17.5 17.5 17.5 17.5' ] || { echo "checkpoint export: weights.npy has other bytes"; failures=$((failures + 1)); }
says 2 export run out/weights.npy <<'END'
checkpoint: a .npy file, and no other, needs --tensor: out/weights.npy is not written
END
says 2 export run out/model.pt <<'END'
checkpoint: out/model.pt is not written: export writes .safetensors files, which torch, JAX and others load, or one tensor as a .npy file
END
[ ! -e out/model.pt ] || { echo "checkpoint export: wrote model.pt"; failures=$((failures + 1)); }
says 2 export run checkpoint-of-another-program --rename weights <<'END'
checkpoint: --rename weights: write it as OLD=NEW, such as net/=model. or net/= for nothing
END
says 2 export run run/checkpoint <<'END'
checkpoint: run/checkpoint is not replaced: it does not begin like the file of that name that this library writes, so another program wrote it; move it away, or give another directory or name
END
says 2 import out/weights.npy out/model.ckpt-3 <<'END'
checkpoint: out/weights.npy is not a safetensors file, or was cut off: its header would have 379676406402707 bytes; the file has 136 behind the length, and a header 100000000 at most
END
[ ! -e out/model.ckpt-3.index ] || { echo "checkpoint import: left a checkpoint behind"; failures=$((failures + 1)); }

# Files of others. A SavedModel holds a checkpoint.
mkdir -p saved/variables
for file in run/model.ckpt-20.*; do cp "$file" "saved/variables/variables.${file#run/model.ckpt-20.}"; done
touch saved/saved_model.pb
says 0 show saved weights <<'END'
float32[4] [10 10 10 10]
END
says 0 verify saved <<'END'
saved/variables/variables: 4 tensors, 40 B: good
END
says 0 list saved <<'END'
saved: 0 checkpoints
saved is a SavedModel; its variables are the checkpoint saved/variables/variables
END
says 2 show saved/variables <<'END'
checkpoint: Couldn't find 'checkpoint' file or checkpoints in given directory saved/variables; give the path of a checkpoint, such as saved/variables/variables
END
printf '\211HDF\r\n\032\n and so on' >model.h5
says 2 show model.h5 <<'END'
checkpoint: there is no checkpoint model.h5 that can be read: it is a file of Keras: load the model in Keras and save it by tf.train.Checkpoint(model=model).write(path)
END
cp "$root"/tests/data_files/other_tensors.* .
says 0 show other_tensors <<'END'
other_tensors: 11 tensors, 152 B
tensor         dtype          shape                  count  size  min  max  mean  NaN  inf
deep           float32        [1,1,2,1,1,3,1,1,1,1]         24 B
float8_e4m3fn  float8_e4m3fn  [2,3]                      6   6 B
float8_e5m2    float8_e5m2    [2,3]                      6   6 B
int4           int4           [2,3]                      6   6 B
qint16         qint16         [2,3]                      6  12 B
qint32         qint32         [2,3]                      6  24 B
qint8          qint8          [2,3]                      6   6 B
quint16        quint16        [2,3]                      6  12 B
quint8         quint8         [2,3]                      6   6 B
variant        variant        []                         1  38 B
whole          float32        [3]                        3  12 B    0    2     1    0    0
END
says 0 verify other_tensors <<'END'
other_tensors: 1 tensor, 12 B: good; 10 not verified, because trainhook cannot hold them
END
says 2 diff other_tensors other_tensors <<'END'
A other_tensors
B other_tensors
0 of 11 tensors differ
tensor         result                                      max |A - B|  elements
deep           not compared: float32[1,1,2,1,1,3,1,1,1,1]
float8_e4m3fn  not compared: float8_e4m3fn[2,3]
float8_e5m2    not compared: float8_e5m2[2,3]
int4           not compared: int4[2,3]
qint16         not compared: qint16[2,3]
qint32         not compared: qint32[2,3]
qint8          not compared: qint8[2,3]
quint16        not compared: quint16[2,3]
quint8         not compared: quint8[2,3]
variant        not compared: variant[]
whole          equal
10 tensors not compared, because trainhook cannot hold them
END
mkdir theirs && cp "$root"/tests/data_files/*.tfevents theirs
says 0 events theirs <<'END'
theirs: 2 event files
tag              kind       values  first step  last step         last value
loss             scalar          3           7          7               0.25
note             text            3           7          7              hello
picture          image           1           7          7              5 x 4
picture/image/0  image           2           7          8              5 x 4
picture/image/1  image           2           7          8              5 x 4
sound            audio           1           7          7
sound/audio/0    audio           2           7          8
weights          histogram       3           7          7  4 values, -1 to 2
END

says 0 events curves <<'END'
curves: 1 event file
tag           kind    values  first step  last step  last value
first_weight  scalar       7           1         31        15.5
END
says 2 events missing <<'END'
checkpoint: there is no directory missing; give the one that a training saves into
END
cp curves/events.out.tfevents.* one.tfevents
says 0 events one.tfevents <<'END'
one.tfevents: 1 event file
tag           kind    values  first step  last step  last value
first_weight  scalar       7           1         31        15.5
END
# A run that lost its last checkpoint repeats steps: none counts twice.
rm curves/model.ckpt-35.* curves/model.ckpt-30.*
"$train" curves 36 0.5 5 2>/dev/null
says 0 events curves --json <<'END'
{"directory": "curves", "files": 2, "tags": [
  {"tag": "first_weight", "kind": "scalar", "values": 8, "first_step": 1, "last_step": 36, "last_value": 18}],
"notes": []}
END
says 2 events mean <<'END'
checkpoint: there are no event files in mean; give the directory that holds events.out.tfevents.*
END

says 0 verify broken <<'END'
broken/input.ckpt-0: 1 tensor, 77 B: good
broken/input.ckpt-10: 1 tensor, 79 B: good
broken/model.ckpt-0: 4 tensors, 40 B: good
broken/model.ckpt-10: 4 tensors, 40 B: good
END
printf x | dd of=broken/model.ckpt-10.data-00000-of-00001 bs=1 seek=30 conv=notrunc status=none
rm broken/input.ckpt-0.data-00000-of-00001
says 1 verify broken <<'END'
broken/input.ckpt-0: checkpoint broken/input.ckpt-0 is incomplete: cannot open broken/input.ckpt-0.data-00000-of-00001: No such file or directory (check the path and that its directory exists)
broken/input.ckpt-10: 1 tensor, 79 B: good
broken/model.ckpt-0: 4 tensors, 40 B: good
broken/model.ckpt-10: checkpoint file broken/model.ckpt-10.data-00000-of-00001 is damaged: tensor weights at byte 24 does not match its checksum; use an older checkpoint
END
says 1 verify broken --json <<'END'
{"good": false, "checkpoints": [
  {"name": "broken/input.ckpt-0", "result": "damaged", "tensors": 0, "bytes": 0, "unknown": 0, "problem": "checkpoint broken/input.ckpt-0 is incomplete: cannot open broken/input.ckpt-0.data-00000-of-00001: No such file or directory (check the path and that its directory exists)"},
  {"name": "broken/input.ckpt-10", "result": "good", "tensors": 1, "bytes": 79, "unknown": 0, "problem": null},
  {"name": "broken/model.ckpt-0", "result": "good", "tensors": 4, "bytes": 40, "unknown": 0, "problem": null},
  {"name": "broken/model.ckpt-10", "result": "damaged", "tensors": 3, "bytes": 24, "unknown": 0, "problem": "checkpoint file broken/model.ckpt-10.data-00000-of-00001 is damaged: tensor weights at byte 24 does not match its checksum; use an older checkpoint"}],
"notes": []}
END
says 1 verify broken/model.ckpt-10 <<'END'
broken/model.ckpt-10: checkpoint file broken/model.ckpt-10.data-00000-of-00001 is damaged: tensor weights at byte 24 does not match its checksum; use an older checkpoint
END
says 1 show broken <<'END'
broken/model.ckpt-10: 4 tensors, 40 B
tensor       dtype    shape  count  size  min  max  mean  NaN  inf
global_step  int64    []         1   8 B
mean         float64  [1]        1   8 B                    1    0
seen         int64    []         1   8 B
weights      float32  [4]        4  16 B
checkpoint file broken/model.ckpt-10.data-00000-of-00001 is damaged: tensor weights at byte 24 does not match its checksum; use an older checkpoint
END
truncate -s 10 broken/model.ckpt-10.data-00000-of-00001
rm broken/model.ckpt-0.index
says 1 list broken <<'END'
broken: 2 checkpoints
checkpoint     step AGE    size  tensors  input          state
model.ckpt-0      0                         input.ckpt-0   missing
model.ckpt-10    10 AGE  208 B           input.ckpt-10  damaged
there is no checkpoint broken/model.ckpt-0: broken/model.ckpt-0.index does not exist
checkpoint file broken/model.ckpt-10.data-00000-of-00001 was cut off: it has 10 bytes of 40
incomplete: model.ckpt-0.data-00000-of-00001 belongs to no checkpoint, because there is no model.ckpt-0.index
END
says 1 verify broken <<'END'
broken/input.ckpt-0: checkpoint broken/input.ckpt-0 is incomplete: cannot open broken/input.ckpt-0.data-00000-of-00001: No such file or directory (check the path and that its directory exists)
broken/input.ckpt-10: 1 tensor, 79 B: good
broken/model.ckpt-0: listed, but not there; a restore takes another one
broken/model.ckpt-10: checkpoint file broken/model.ckpt-10.data-00000-of-00001 was cut off: it has 10 bytes of 40
incomplete: model.ckpt-0.data-00000-of-00001 belongs to no checkpoint, because there is no model.ckpt-0.index
END
says 1 verify broken --json <<'END'
{"good": false, "checkpoints": [
  {"name": "broken/input.ckpt-0", "result": "damaged", "tensors": 0, "bytes": 0, "unknown": 0, "problem": "checkpoint broken/input.ckpt-0 is incomplete: cannot open broken/input.ckpt-0.data-00000-of-00001: No such file or directory (check the path and that its directory exists)"},
  {"name": "broken/input.ckpt-10", "result": "good", "tensors": 1, "bytes": 79, "unknown": 0, "problem": null},
  {"name": "broken/model.ckpt-0", "result": "missing", "tensors": 0, "bytes": 0, "unknown": 0, "problem": null},
  {"name": "broken/model.ckpt-10", "result": "damaged", "tensors": 0, "bytes": 0, "unknown": 0, "problem": "checkpoint file broken/model.ckpt-10.data-00000-of-00001 was cut off: it has 10 bytes of 40"}],
"notes": ["incomplete: model.ckpt-0.data-00000-of-00001 belongs to no checkpoint, because there is no model.ckpt-0.index"]}
END
# A checkpoint that the state file lists is gone, and later the state file cannot be read.
rm other/model.ckpt-10.*
says 1 list other <<'END'
other: 5 checkpoints
checkpoint     step AGE    size  tensors  input          state
model.ckpt-0      0 AGE  238 B        4  input.ckpt-0   listed
model.ckpt-10    10                         input.ckpt-10  missing
model.ckpt-20    20 AGE  238 B        4  input.ckpt-20  listed
model.ckpt-30    30 AGE  238 B        4  input.ckpt-30  listed
model.ckpt-35    35 AGE  238 B        4  input.ckpt-35  newest
there is no checkpoint other/model.ckpt-10: other/model.ckpt-10.index does not exist
END
rm other/input.ckpt-* other/checkpoint_input
says 1 verify other <<'END'
other/model.ckpt-0: 4 tensors, 40 B: good
other/model.ckpt-10: listed, but not there; a restore takes another one
other/model.ckpt-20: 4 tensors, 40 B: good
other/model.ckpt-30: 4 tensors, 40 B: good
other/model.ckpt-35: 4 tensors, 40 B: good
END
printf 'model_checkpoint_path: {' >other/checkpoint
says 1 list other <<'END'
checkpoint: checkpoint state of other is ignored: state file other/checkpoint does not parse: expected '}' in line 1
other: 4 checkpoints
checkpoint     step AGE    size  tensors  input  state
model.ckpt-0      0 AGE  238 B        4         not listed: stays
model.ckpt-20    20 AGE  238 B        4         not listed: stays
model.ckpt-30    30 AGE  238 B        4         not listed: stays
model.ckpt-35    35 AGE  238 B        4         not listed: stays
damaged: state file other/checkpoint cannot be read
END
says 1 verify other --json <<'END'
checkpoint: checkpoint state of other is ignored: state file other/checkpoint does not parse: expected '}' in line 1
{"good": false, "checkpoints": [
  {"name": "other/model.ckpt-0", "result": "good", "tensors": 4, "bytes": 40, "unknown": 0, "problem": null},
  {"name": "other/model.ckpt-20", "result": "good", "tensors": 4, "bytes": 40, "unknown": 0, "problem": null},
  {"name": "other/model.ckpt-30", "result": "good", "tensors": 4, "bytes": 40, "unknown": 0, "problem": null},
  {"name": "other/model.ckpt-35", "result": "good", "tensors": 4, "bytes": 40, "unknown": 0, "problem": null}],
"notes": ["damaged: state file other/checkpoint cannot be read"]}
END
echo 'all_model_checkpoint_paths: "model.ckpt-0"' >other/checkpoint
says 1 verify other <<'END'
damaged: state file other/checkpoint names no model_checkpoint_path; remove or repair it
other/model.ckpt-0: 4 tensors, 40 B: good
other/model.ckpt-20: 4 tensors, 40 B: good
other/model.ckpt-30: 4 tensors, 40 B: good
other/model.ckpt-35: 4 tensors, 40 B: good
END
says 2 verify none <<'END'
checkpoint: there is no checkpoint none: none.index does not exist
END

says 0 prune run --keep 3 --dry-run --json <<'END'
{"directory": "run", "dry_run": true, "removed": [
  {"name": "run/model.ckpt-0", "bytes": 238},
  {"name": "run/model.ckpt-10", "bytes": 238},
  {"name": "run/input.ckpt-10", "bytes": 211}],
"notes": []}
END
says 0 prune run --keep 3 --dry-run <<'END'
would remove run/model.ckpt-0 (238 B)
would remove run/model.ckpt-10 (238 B)
would remove run/input.ckpt-10 (211 B)
END
says 0 prune run --keep 3 <<'END'
removed run/model.ckpt-0 (238 B)
removed run/model.ckpt-10 (238 B)
removed run/input.ckpt-10 (211 B)
END
says 0 prune run --keep 3 <<'END'
nothing to remove: run lists no more than 3
END
says 0 list run <<'END'
run: 4 checkpoints
checkpoint     step AGE    size  tensors  input          state
copy-0            0 AGE  238 B        4  input.ckpt-0   not listed: stays
model.ckpt-20    20 AGE  238 B        4  input.ckpt-20  listed
model.ckpt-30    30 AGE  238 B        4  input.ckpt-30  listed
model.ckpt-35    35 AGE  238 B        4  input.ckpt-35  newest
left over: input.ckpt-11 has no model of its step
left over: model.ckpt-40.index.tempstate123, of a save that goes on or was killed; the next training removes it if trainhook wrote it
incomplete: model.ckpt-7.data-00000-of-00001 belongs to no checkpoint, because there is no model.ckpt-7.index
END
says 2 prune run --keep 0 <<'END'
checkpoint: --keep: Value 0 not in range 1 to 1000000; checkpoint --help shows the commands
END
says 2 prune mean --keep 1 <<'END'
checkpoint: there is no state file mean/checkpoint that can be read, so nothing tells which checkpoints may be removed; give the directory of a training
END
"$train" run 40 0.5 0 2>/dev/null  # which goes on from what is left
says 0 show run weights <<'END'
float32[4] [20 20 20 20]
END

says 2 <<'END'
checkpoint: A subcommand is required; checkpoint --help shows the commands
END
says 2 shwo run <<'END'
checkpoint: there is no command 'shwo'; did you mean 'show'?
END
says 2 train run <<'END'
checkpoint: there is no command 'train'; checkpoint --help shows the commands
END
says 2 show <<'END'
checkpoint: checkpoint is required; checkpoint --help shows the commands
END

# Colour is for terminals, and for those who want it.
if script -qec true /dev/null >/dev/null 2>&1; then
  escape=$(printf '\033')
  on_terminal=$(TERM=xterm script -qec "'$checkpoint' list run" /dev/null)
  [[ $on_terminal == *"$escape"* ]] || { echo "no colour on a terminal"; failures=$((failures + 1)); }
  on_terminal=$(TERM=xterm NO_COLOR=1 script -qec "'$checkpoint' list run" /dev/null)
  [[ $on_terminal != *"$escape"* ]] || { echo "colour in spite of NO_COLOR"; failures=$((failures + 1)); }
fi

[ "$failures" = 0 ]
