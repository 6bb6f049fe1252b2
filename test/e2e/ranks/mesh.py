#!/usr/bin/env python3
"""Connects to the other ranks of a gang over TCP, and adds up their numbers.

It finds the other ranks like the given framework (tensorflow, mxnet) and reads only the environment that the
framework reads: a list of all ranks (TensorFlow), or the address of one rank with which all register (MXNet's
scheduler). Ranks that train exit 0 when every other rank has sent its number and the sum is
correct. The others serve until the operator stops them, like parameter servers.
"""

import json
import os
import signal
import socket
import sys
import threading
import time

PATIENCE = 300  # seconds until every rank must have been found


def dial(host, port):
    """Connects, and waits until the name resolves and the port is open."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((host, port), timeout=PATIENCE)
        except OSError as e:
            if time.monotonic() > deadline:
                sys.exit("%s:%d does not answer: %s" % (host, port, e))
            time.sleep(0.5)


def ask(host, port, question):
    """Sends a line and returns the answer."""
    with dial(host, port) as s, s.makefile("rw") as f:
        print(json.dumps(question), file=f, flush=True)
        answer = f.readline()
    if not answer:
        sys.exit("%s:%d hung up" % (host, port))
    return json.loads(answer)


def serve(server, answer):
    """Answers every line in its own thread, and counts the answers."""
    answered = threading.Semaphore(0)

    def talk(s):
        with s, s.makefile("rw") as f:
            line = f.readline()
            if line:
                print(json.dumps(answer(json.loads(line), s)), file=f, flush=True)
                answered.release()

    def accept():
        while True:
            threading.Thread(target=talk, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return answered


def host_rendezvous(port, count):
    """Waits until count ranks have registered, and sends all addresses to each of them."""
    known, complete = {}, threading.Condition()

    def register(member, s):
        with complete:
            known[member["name"]] = [s.getpeername()[0], member["port"]]
            complete.notify_all()
            if not complete.wait_for(lambda: len(known) == count, PATIENCE):
                sys.exit("only %s have registered" % sorted(known))
        return known

    serve(socket.create_server(("", port)), register)


def mesh(name, members, server):
    """Asks every other member for its number, which is its place in the order of their names."""
    order = sorted(members)
    number = order.index(name) + 1
    answered = serve(server, lambda question, _: number)
    total = number
    for other in order:
        if other != name:
            host, port = members[other]
            total += ask(host, port, name)
    want = len(order) * (len(order) + 1) // 2
    if total != want:
        sys.exit("the numbers of %s add up to %d, not to %d" % (order, total, want))
    for _ in range(len(order) - 1):  # no rank exits before all others have asked
        if not answered.acquire(timeout=PATIENCE):
            sys.exit("not all of %s have asked" % order)
    print("met %d ranks: %s" % (len(order), order), flush=True)


def register(name, host, port):
    """Registers with the host of the rendezvous, and returns all members and the socket for them."""
    server = socket.create_server(("", 0))
    members = ask(host, port, {"name": name, "port": server.getsockname()[1]})
    return members, server


def wait_for_ever():
    """Serves until a signal. The first process of a container ignores signals that it does not handle."""
    while True:
        signal.pause()


def tensorflow():
    config = json.loads(os.environ["TF_CONFIG"])
    task, index = config["task"]["type"], config["task"]["index"]
    if task == "evaluator":
        if not config["cluster"]["worker"] or len(config["cluster"]["evaluator"]) != 1:
            sys.exit("an evaluator must know the cluster, and itself: %s" % config)
        wait_for_ever()
    if "evaluator" in config["cluster"]:
        sys.exit("an evaluator is no part of the training cluster: %s" % config)
    members = {}
    for kind, addresses in config["cluster"].items():
        for i, address in enumerate(addresses):
            host, port = address.rsplit(":", 1)
            members["%s %d" % (kind, i)] = [host, int(port)]
    name = "%s %d" % (task, index)
    mesh(name, members, socket.create_server(("", members[name][1])))
    if task == "ps":
        wait_for_ever()


def mxnet():
    role, port = os.environ["DMLC_ROLE"], int(os.environ["DMLC_PS_ROOT_PORT"])
    count = int(os.environ["DMLC_NUM_SERVER"]) + int(os.environ["DMLC_NUM_WORKER"])
    if role == "scheduler":
        host_rendezvous(port, count)
        wait_for_ever()
    name = "%s %s" % (role, socket.gethostname())
    members, server = register(name, os.environ["DMLC_PS_ROOT_URI"], port)
    mesh(name, members, server)
    if role == "server":
        wait_for_ever()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    {"tensorflow": tensorflow, "mxnet": mxnet}[sys.argv[1]]()
