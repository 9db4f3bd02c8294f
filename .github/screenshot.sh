#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .github/tensorboard.png, the picture in the README: trains the quickstart, opens its folder in TensorBoard,
# and takes a screenshot with a headless Chromium: .github/screenshot.sh [picture]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
picture=$(realpath -m "${1:-$root/.github/tensorboard.png}")

"$root/.ci/packages" screenshot
venv=$("$root/.ci/tensorflow" "$root/build/interop/venv")

work=$(mktemp -d)
servers=()
finish() {
  for server in "${servers[@]}"; do
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap finish EXIT

"$root/examples/quickstart.sh" --fresh --model-dir "$work/quickstart-run"

free_port='import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
tensorboard_port=$("$venv/bin/python" -c "$free_port")
driver_port=$("$venv/bin/python" -c "$free_port")
"$venv/bin/tensorboard" --logdir "$work" --host 127.0.0.1 --port "$tensorboard_port" --load_fast=false \
  >"$work/tensorboard.txt" 2>&1 &
servers+=($!)
chromedriver --port="$driver_port" >"$work/chromedriver.txt" 2>&1 &
servers+=($!)

# The W3C WebDriver protocol is JSON over HTTP, so Python's standard library is enough to drive the browser.
"$venv/bin/python" - "$tensorboard_port" "$driver_port" "$picture" <<'PYTHON'
import base64, json, sys, time, urllib.error, urllib.request

tensorboard, driver = (f"http://127.0.0.1:{port}" for port in sys.argv[1:3])
width, height = 1400, 974
pinned = ["loss_by_step", "batch_accuracy", "batch/image/0",
          "hidden/kernel/values", "logits/kernel/values", "learning_rate"]


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(driver + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["value"]


def wait(what, ready, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            if ready():
                return
        except (OSError, urllib.error.URLError):
            pass
        if time.monotonic() > end:
            sys.exit(f"screenshot: {what} was not there after {seconds} s")
        time.sleep(0.5)


def has_runs():
    with urllib.request.urlopen(tensorboard + "/data/runs", timeout=10) as answer:
        return json.load(answer) != []


wait("TensorBoard", has_runs)
wait("chromedriver", lambda: call("GET", "/status")["ready"])
flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", f"--window-size={width},{height}"]
capabilities = {"alwaysMatch": {"goog:chromeOptions": {"args": flags}}}
session = "/session/" + call("POST", "/session", {"capabilities": capabilities})["sessionId"]
try:
    def script(text, *arguments):
        return call("POST", session + "/execute/sync", {"script": text, "args": arguments})

    call("POST", session + "/url", {"url": tensorboard + "/#timeseries"})
    wait("the settings", lambda: script("""
        const tables = document.querySelector('.scalars-step-selector input');
        const settings = document.querySelector('[aria-label="Toggle settings side pane"][aria-pressed="true"]');
        if (!tables || !settings) return false;
        if (tables.checked) tables.click();
        settings.click();
        return true;"""))
    for tag in pinned:  # a card exists once its group is expanded and scrolled to
        wait(f"the card of {tag}", lambda: script("""
            const [tag] = arguments;
            const group = [...document.querySelectorAll('metrics-card-groups-component > div')]
                .find(group => group.querySelector(`[title="${tag.split('/')[0]}"]`));
            group?.scrollIntoView();
            const card = group?.querySelector(`tb-truncated-path[title="${tag}"]`)?.closest('card-view');
            if (group && !group.querySelector('card-view')) group.querySelector('[aria-label="Expand group"]').click();
            const pin = card?.querySelector('[aria-label="Pin card"]');
            pin?.click();
            return Boolean(pin);""", tag))
    script("document.querySelector('metrics-pinned-view').scrollIntoView()")
    wait("the drawing", lambda: script("""
        const cards = [...document.querySelectorAll('metrics-pinned-view card-view')];
        return cards.length === arguments[0] &&
            cards.every(card => card.querySelector('line-chart, img, tb-histogram')) &&
            cards.every(card => !card.querySelector('mat-spinner'));""", len(pinned)))
    time.sleep(3)  # curves are drawn by a worker, which does not say when it is done
    with open(sys.argv[3], "wb") as file:
        file.write(base64.b64decode(call("GET", session + "/screenshot")))
finally:
    call("DELETE", session)
PYTHON
echo "screenshot: $picture, $(stat -c %s "$picture") bytes"
