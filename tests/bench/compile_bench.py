#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what it costs to compile a file that uses trainhook: compile_bench.py <source folder> <folder for its own files>.

Times are CPU seconds of the compiler (CXX, else g++), as a ratio to a syntax check of `#include <Eigen/Dense>`. Each figure is the
minimum of three; the three rounds take turns, so that a busy machine slows all rows alike. Writes the records of
tests/bench/record.hpp: a line of JSON to standard output and a line of the table to standard error.
With --only NAME it measures one row, with --rounds N it takes the minimum of N.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import typing

SYNTAX = ["-fsyntax-only"]
COMPILED = ["-DTRAINHOOK_SEPARATE_COMPILATION"]
CODE = ["-O2", "-c", "-o", "/dev/null"]

HOOK = """#include <trainhook/session/session_run_hook.hpp>

class CountSteps final : public trainhook::SessionRunHook {
 public:
  void after_run(trainhook::SessionRunContext&, const trainhook::SessionRunValues&) override { ++steps_; }

 private:
  long steps_ = 0;
};
"""


COMMAND_LINE = """#include <CLI/CLI.hpp>

int main(int count, char** arguments) {
  CLI::App app{"a main that only reads its arguments"};
  int steps = 0;
  std::string folder;
  bool fast = false;
  app.add_option("--steps", steps);
  app.add_option("--folder", folder);
  app.add_flag("--fast", fast);
  CLI11_PARSE(app, count, arguments);
  return steps;
}
"""

README = ("events", "checkpoints", "your_loop", "own_hook", "graph")


class Row(typing.NamedTuple):
    """A file that is compiled. `less`: the arguments of a compilation whose time is subtracted."""

    name: str
    goal: float
    arguments: list
    less: typing.Optional[list] = None


class Failed(Exception):
    """A command failed; the message says which."""


def run(command, output=sys.stderr):
    """Runs `command`; returns its CPU seconds and the memory of its largest process in GB."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise Failed(f"failed: {' '.join(map(str, command))}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e9


def report(name, ours, peer, peer_name, unit, goal):
    ratio = ours / peer
    print(json.dumps({"name": name, "ours": float(f"{ours:.6g}"), "peer": float(f"{peer:.6g}"), "peer_name": peer_name,
                      "unit": unit, "ratio": float(f"{ratio:.6g}"), "goal": goal, "holds": ratio <= goal}), flush=True)
    print(f"{name:<36}{ours:>10.4g}{peer:>10.4g} {unit:<12}{peer_name:<22}{ratio:>10.4g}  <= {goal:g}"
          f"{'' if ratio <= goal else '  MISSED'}", file=sys.stderr, flush=True)


def report_budget(name, ours, budget, unit):
    report(name, ours, budget, "budget", unit, 1)


def user_files(root, work):
    """Writes the users' files; returns their rows, and the compiler's arguments for the one they are compared with."""
    programs = work / "programs"
    programs.mkdir(exist_ok=True)
    pages = [root / "README.md", *sorted((root / ".github").glob("*.md"))]
    subprocess.run(["awk", "-v", f"folder={programs}", "-f", root / "tests/readme/extract.awk", *pages], check=True,
                   stdout=subprocess.DEVNULL)
    (programs / "eigen.cpp").write_text("#include <Eigen/Dense>\n")
    (programs / "hook.cpp").write_text(HOOK)
    (programs / "umbrella.cpp").write_text("#include <trainhook/trainhook.hpp>\n")
    (programs / "command_line.cpp").write_text(COMMAND_LINE)
    return [
        Row("hook_header", 1.2, [*SYNTAX, *COMPILED, programs / "hook.cpp"]),
        Row("umbrella", 2.3, [*SYNTAX, *COMPILED, programs / "umbrella.cpp"]),
        Row("events", 1.5, [*CODE, *COMPILED, programs / "events.cpp"]),
        Row("checkpoints", 1.5, [*CODE, *COMPILED, programs / "checkpoints.cpp"]),
        Row("your_loop", 3.0, [*CODE, *COMPILED, programs / "your_loop.cpp"]),
        Row("own_hook", 3.0, [*CODE, *COMPILED, programs / "own_hook.cpp"]),
        Row("graph", 4.0, [*CODE, *COMPILED, programs / "graph.cpp"]),
        Row("quickstart", 5.0, [*CODE, *COMPILED, root / "examples/quickstart.cpp"], [*CODE, programs / "command_line.cpp"]),
        Row("your_loop_header_only", 27, [*CODE, programs / "your_loop.cpp"]),
    ], [*SYNTAX, programs / "eigen.cpp"]


def measure_files(root, work, compile_command, wanted, rounds):
    """Compiles the users' files by turns and reports their rows."""
    rows, eigen = user_files(root, work)
    rows = [row for row in rows if wanted(f"compile_{row.name}") or wanted("compile_memory_user") and row.name in README]
    seconds = {}
    peaks = {}

    def measure(key, arguments):
        cpu, peak = run([*compile_command, *arguments])
        seconds[key] = min(cpu, seconds.get(key, cpu))
        peaks[key] = max(peak, peaks.get(key, 0))

    for _ in range(rounds if rows else 0):
        measure("eigen", eigen)
        for row in rows:
            measure(row.name, row.arguments)
            if row.less:
                measure(f"less {row.name}", row.less)
    for row in rows:
        if wanted(f"compile_{row.name}"):
            report(f"compile_{row.name}", seconds[row.name] - seconds.get(f"less {row.name}", 0), seconds["eigen"],
                   "parsing Eigen/Dense", "s CPU", row.goal)
    if wanted("compile_memory_user"):
        report_budget("compile_memory_user", max(peaks[name] for name in README), 0.4, "GB")


def configure_libraries(root, work, compiler):
    """A build of the libraries that notes what each file takes; returns the folders that a user's file includes from."""
    build = work / "libraries"
    shutil.rmtree(build, ignore_errors=True)
    launcher = f"{sys.executable};{pathlib.Path(__file__).resolve()};--launched;{work / 'files.txt'}"
    run(["cmake", "-S", root, "-B", build, "-G", "Ninja", "--log-level=WARNING", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
         "-DTRAINHOOK_BUILD_TESTS=OFF", "-DTRAINHOOK_BUILD_EXAMPLES=OFF", "-DTRAINHOOK_BUILD_BENCHMARKS=OFF"], subprocess.DEVNULL)
    commands = json.loads((build / "compile_commands.json").read_text())
    engine = next(entry["command"] for entry in commands if "trainhook_engine" in entry["command"])
    return re.findall(r"(?:-I|-isystem )\S+", engine)


def measure_libraries(work, wanted):
    """Compiles all libraries once, as a user's first build does, on two cores."""
    if not wanted("compile_libraries") and not wanted("compile_memory_library"):
        return
    files = work / "files.txt"
    files.unlink(missing_ok=True)
    start = time.monotonic()
    run(["cmake", "--build", work / "libraries", "-j", "2", "--target", "trainhook", "trainhook_media",
         "trainhook_engine"])
    wall = time.monotonic() - start
    costs = [(float(cpu), float(peak), name) for cpu, peak, name in map(str.split, files.read_text().splitlines())]
    for cpu, peak, name in sorted(costs, reverse=True)[:5]:
        print(f"  {name}: {cpu:.1f} s CPU, {peak:.2f} GB", file=sys.stderr)
    print(f"  all {len(costs)} files: {sum(cpu for cpu, _, _ in costs):.0f} s CPU", file=sys.stderr)
    if wanted("compile_memory_library"):
        report_budget("compile_memory_library", max(peak for _, peak, _ in costs), 0.8, "GB")
    if wanted("compile_libraries"):
        report_budget("compile_libraries", wall, 60, "s, two cores")


def launched(files, command):
    """Compiles one file of a build and notes what it took."""
    try:
        cpu, peak = run(command)
    except Failed:
        return 1
    with open(files, "a", encoding="utf-8") as file:
        file.write(f"{cpu} {peak} {os.path.basename(command[-1])}\n")
    return 0


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--launched":
        return launched(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--only", help="the name of one row")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    root, work = given.root.resolve(), given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CXX", "g++")

    def wanted(name):
        return given.only in (None, name)

    try:
        includes = " ".join(configure_libraries(root, work, compiler)).split()
        measure_files(root, work, [compiler, "-std=c++20", *includes], wanted, given.rounds)
        measure_libraries(work, wanted)
    except Failed as error:
        print(f"compile_bench.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
