"""Build a wheel with compiled kernels in it: `python -m tools.build_wheel`.

For the Python, Numba and platform that it runs on. The pure wheel is built first; its package is unpacked and compiles all
its kernels for each level; entries and inner kernels go into `thud/_kernels`; the wheel gets this platform's tag and pins
Numba and llvmlite to the versions whose code it holds. Devices are inlined already and stay at home.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def build(levels: list[str], out: Path, size_limit: float) -> Path:
    """Build the wheel and return its path."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        say("building the pure wheel")
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder / "pure"), str(ROOT))
        (pure,) = (folder / "pure").glob("*.whl")
        run(sys.executable, "-m", "wheel", "unpack", "-d", str(folder / "tree"), str(pure))
        (tree,) = (folder / "tree").iterdir()
        collect(tree, levels, folder)
        pin_metadata(tree)
        out.mkdir(parents=True, exist_ok=True)
        before = set(out.glob("*.whl"))
        run(sys.executable, "-m", "wheel", "pack", "-d", str(out), str(tree))
    (made,) = set(out.glob(f"*{platform_tag()}.whl")) - before or set(out.glob(f"*{python_tag()}*{platform_tag()}.whl"))
    megabytes = made.stat().st_size / 1e6
    if megabytes > size_limit:
        raise SystemExit(f"{made.name} has {megabytes:.1f} MB, more than {size_limit:.0f} MB")
    say(f"{made}: {megabytes:.1f} MB")
    return made


def collect(tree: Path, levels: list[str], folder: Path, groups: tuple[str, ...] = ()) -> None:
    """Compile the kernels of an unpacked package, of all groups or some, for each level, and put them into it."""
    kernels = tree / "thud" / "_kernels"
    kernels.mkdir()
    index: dict[str, object] = {}
    rows: dict[str, object] = {}
    for level in levels:
        say(f"compiling for {level}")
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("NUMBA_", "THUD_"))}
        environment |= {
            "THUD_TARGET": level,
            "THUD_CACHE_DIR": str(folder / "cache" / level),
            "PYTHONPATH": os.pathsep.join((str(tree), str(ROOT))),
        }
        pack = str(kernels / f"{level}.pack")
        command = (sys.executable, "-m", "tools.build_wheel", "--collect", pack, "--groups", ",".join(groups))
        # Not from the checkout's folder, whose `src` is not what is built.
        done = subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        rows[level] = found.pop("kernels")
        if index and index != found:
            raise SystemExit("the levels differ in more than the processor")
        index = found
    (kernels / "index.json").write_text(json.dumps({**index, "levels": rows}))


def write_pack(path: Path, groups: list[str]) -> dict[str, object]:
    """In a process that compiles for one level: all kernels into one file, and their index."""
    import thud
    from thud._core import decorators, kernel_key, shipped, store
    from thud._core.pipeline import DEVICE

    names = [kernel.name for kernel in thud.warmup(*groups)]
    rows: dict[str, list[object]] = {}
    with path.open("wb") as file:
        for name in sorted(names):
            dispatcher, signature = decorators.REGISTRY[name]
            cache = dispatcher._cache
            if cache.kind == DEVICE:
                continue
            arguments = decorators.resolve_signature(signature)
            key = kernel_key.function_key(cache.function, cache.kind, arguments)
            content = store.user_store().load(f"{key}.kernel")
            if content is None:
                raise SystemExit(f"{name} could not be compiled and stored")
            digest = hashlib.sha256(content).hexdigest()
            rows[name] = [file.tell(), len(content), digest, kernel_key.arguments_text(arguments)]
            file.write(content)
    return {
        "format": shipped.FORMAT,
        "environment": kernel_key.environment_text(),
        "sources": shipped.source_digest(),
        "kernels": rows,
    }


def pin_metadata(tree: Path) -> None:
    """This platform's tag, and the versions whose code is inside."""
    import llvmlite
    import numba

    (info,) = tree.glob("*.dist-info")
    metadata = (info / "METADATA").read_text().splitlines()
    pins = [f"Requires-Dist: numba=={numba.__version__}", f"Requires-Dist: llvmlite=={llvmlite.__version__}"]
    place = next(i for i, line in enumerate(metadata) if line.startswith("Requires-Dist: numba"))
    metadata[place : place + 1] = pins
    (info / "METADATA").write_text("\n".join(metadata) + "\n")
    wheel = [line for line in (info / "WHEEL").read_text().splitlines() if not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    wheel += ["Root-Is-Purelib: false", f"Tag: {python_tag()}-{python_tag()}-{platform_tag()}"]
    (info / "WHEEL").write_text("\n".join(line for line in wheel if line) + "\n")


def python_tag() -> str:
    """As in a wheel's name."""
    return f"cp{sys.version_info[0]}{sys.version_info[1]}"


def platform_tag() -> str:
    """As in a wheel's name."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def run(*command: str) -> None:
    """Run a command; its output only matters if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.build_wheel", description=__doc__)
    parser.add_argument("--levels", default="avx2", help="levels of processors, separated by commas: sse4.2, avx2, avx512")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the wheel")
    parser.add_argument("--size-limit", type=float, default=30.0, help="megabytes that the wheel may have")
    parser.add_argument("--collect", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--groups", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.collect is not None:
        print(json.dumps(write_pack(options.collect, [group for group in options.groups.split(",") if group])))
    else:
        build(options.levels.split(","), options.out, options.size_limit)


if __name__ == "__main__":
    main()
