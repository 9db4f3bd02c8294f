# SPDX-License-Identifier: Apache-2.0
"""PyTorch has the same outputs with the weights that a LibTorch program trained and exported. It is Debian's, in a process of its own, so that its
libraries do not meet TensorFlow's."""

import sys

LOADS = """
import sys
import numpy as np
import torch
from safetensors.torch import load_file

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.dropout = torch.nn.Dropout(0.2)
        self.lstm = torch.nn.LSTM(24, 8, batch_first=True)
        self.last = torch.nn.Linear(8, 3)

    def forward(self, images):
        seen = self.dropout(torch.relu(self.norm(self.conv(images))))
        rows = seen.permute(0, 2, 1, 3).reshape(images.shape[0], 6, 24)
        return self.last(self.lstm(rows)[0][:, 5])

folder = sys.argv[1]
net = Net()
net.load_state_dict(load_file(f"{folder}/model.safetensors"))  # just these names
net.eval()
with torch.no_grad():
    output = net(torch.from_numpy(np.load(f"{folder}/input.npy"))).numpy()
expected = np.load(f"{folder}/output.npy")
assert np.abs(expected).max() > 0.1 and expected.shape == (32, 3), expected
assert np.abs(output - expected).max() < 1e-6
"""


def test_exported_weights_give_the_same_outputs(programs, run, tmp_path, monkeypatch):
    run(programs / "write_torch", tmp_path)
    monkeypatch.setenv("PYTHONPATH", "/usr/lib/python3/dist-packages")
    run(sys.executable, "-c", LOADS, tmp_path)
