"""Lets frameworks write saves, for lab/layouts/record, which traces what is written.

    python3 run.py MODULE DIRECTORY [TREE]

A module has one function for each tree. It writes the saves of steps 10 and 20 below a directory, with the
framework's own code, and calls saved(step) after each. For each tree this program starts the function in as
many processes as it has ranks, and copies the directory after each save. The function may only use absolute
paths: the trace does not resolve others.
"""

import contextlib
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from importlib.metadata import version

STEPS = (10, 20)
TIMEOUT = 300  # seconds for one save

trees = {}


def tree(of, ranks=1, by_hand=""):
    """Registers a function that writes a tree with the package `of`, as its functions' names with dashes.

    by_hand names the source of the layout, where the framework's own code cannot run here.
    """

    def register(function):
        trees[function.__name__.replace("_", "-")] = (function, of, ranks, by_hand)
        return function

    return register


def rank():
    return int(os.environ["RANK"])


def text(path, content):
    with open(path, "w") as f:
        f.write(content)


def run_rank(name, directory):
    def saved(step):
        open(f"{directory}/saved-{step}-{rank()}", "w").close()
        wait(lambda: os.path.exists(f"{directory}/copied-{step}"), f"the copy of step {step}")

    trees[name][0](f"{directory}/volume", saved)
    os._exit(0)  # some frameworks fail when they end their threads


def wait(done, what, alive=lambda: True):
    deadline = time.monotonic() + TIMEOUT
    while not done():
        if time.monotonic() > deadline or not alive():
            raise SystemExit(f"waiting for {what}: it did not come")
        time.sleep(0.02)


def record(module, name, directory):
    function, of, ranks, by_hand = trees[name]
    os.makedirs(f"{directory}/volume")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    processes = []
    for r in range(ranks):
        env = dict(os.environ, RANK=str(r), LOCAL_RANK=str(r), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        command = [sys.executable, __file__, module, directory, name, "--rank"]
        processes.append(subprocess.Popen(command, env=env, start_new_session=True))
    alive = lambda: all(p.poll() in (None, 0) for p in processes)
    try:
        for step in STEPS:
            here = lambda: all(os.path.exists(f"{directory}/saved-{step}-{r}") for r in range(ranks))
            wait(here, f"{name}, step {step}", alive)
            shutil.copytree(f"{directory}/volume", f"{directory}/{step}", symlinks=True)
            open(f"{directory}/copied-{step}", "w").close()
        for p in processes:
            if p.wait(TIMEOUT) != 0:
                raise SystemExit(f"{name}: a rank failed")
    finally:
        for p in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)
    return {"name": name, "framework": of, "version": version(of), "ranks": ranks, "byHand": by_hand}


def main():
    module, directory = sys.argv[1:3]
    importlib.import_module(module)
    if sys.argv[-1] == "--rank":
        run_rank(sys.argv[3], directory)
        return
    names = [name for name, (function, *_) in trees.items() if function.__module__ == module]
    if sys.argv[3:]:
        names = sys.argv[3:]
    facts = [record(module, name, f"{directory}/{name}") for name in names]
    with open(f"{directory}/trees.json", "w") as f:
        json.dump(facts, f, indent=1)


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"]  # the modules import it by this name
    main()
