"""`python -m benchmarks NAME`: run one benchmark from a checkout."""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import benchmarks


def main() -> None:
    names = sorted(
        m.name.removeprefix("bench_") for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")
    )
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Us and the peers, in one process, round robin.")
    parser.add_argument("name", choices=names)
    parser.add_argument(
        "--size", choices=("ci", "standard", "full"), default="standard", help="ci: a smoke test; standard: what the docs quote"
    )
    arguments = parser.parse_args()
    importlib.import_module(f"benchmarks.bench_{arguments.name}").run(arguments.size)


if __name__ == "__main__":
    main()
