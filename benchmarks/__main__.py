"""`python -m benchmarks NAME`: run one benchmark from a checkout. `python -m benchmarks all`: each of them, in turn."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import subprocess
import sys
import time

import benchmarks
from benchmarks import harness
from benchmarks.results_file import circumstances, compare


def names() -> list[str]:
    """Of all benchmarks."""
    modules = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name.removeprefix("bench_") for name in modules if name.startswith("bench_"))


def run_all(size: str, wanted: list[str]) -> int:
    """Each in a process of its own; goes on when one fails. Writes all.txt beside the results: when and where they were taken,
    how long each took, what failed, and what got slower than the committed results. Returns how many failed."""
    lines = [f"{what}: {text}" for what, text in circumstances().items()]
    lines.append(f"size: {size}")
    failed, slower = [], []
    for name in wanted:
        print(f"\n===== {name}", flush=True)
        begin = time.perf_counter()
        code = subprocess.call([sys.executable, "-m", "benchmarks", name, "--size", size])
        lines.append(f"{name}: {time.perf_counter() - begin:.0f} s{'' if code == 0 else f', FAILED with exit code {code}'}")
        if code:
            failed.append(name)
            continue
        path = harness.RESULTS / f"{name}.csv"
        slower += [f"{name}: {line}" for line in (compare(path) if path.is_file() else [])]
    lines += ["", "slower than the committed results by more than 10 %:", *(slower or ["nothing"])]
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    (harness.RESULTS / "all.txt").write_text("\n".join(lines) + "\n")
    print("\n===== all", *lines, sep="\n")
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Us and the peers, in one process, round robin.")
    parser.add_argument("name", choices=["all", *names()])
    parser.add_argument(
        "--size", choices=("ci", "standard", "full"), default="standard", help="ci: a smoke test; standard: what the docs quote"
    )
    parser.add_argument("--only", nargs="+", choices=names(), help="with all: these, in this order")
    arguments = parser.parse_args()
    harness.set_size(arguments.size)
    if arguments.name == "all":
        sys.exit(1 if run_all(arguments.size, arguments.only or names()) else 0)
    importlib.import_module(f"benchmarks.bench_{arguments.name}").run(arguments.size)


if __name__ == "__main__":
    main()
