"""Submits a TrainingJob and waits for it. It needs only Kubernetes' Python client.

trainingjob_dag.py calls it from Airflow. Every function takes a CustomObjectsApi, so that a caller can pass its
own connection.
"""

import argparse
import json
import sys
import time

from kubernetes import client, config

GROUP, VERSION, PLURAL = "mlplatform.example.com", "v1alpha1", "trainingjobs"
NOT_FOUND, CONFLICT = 404, 409


class Failed(Exception):
    """The job has failed. The text is the message of its status."""


def submit(api, namespace, job):
    """Creates the job, or finds the job that an earlier try of the same task created. Returns its UID."""
    try:
        made = api.create_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, job)
    except client.exceptions.ApiException as e:
        if e.status != CONFLICT:
            raise
        made = api.get_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, job["metadata"]["name"])
    return made["metadata"]["uid"]


def state(job):
    """Returns (done, text) for a job. Raises Failed if the job has failed."""
    status = job.get("status", {})
    phase, message = status.get("phase", "new"), status.get("message", "the operator has not processed it yet")
    if phase == "Failed":
        raise Failed(message)
    return phase == "Succeeded", f"{phase}: {message}"


def poll(api, namespace, name, uid=None):
    """Reads the job once and returns (done, text). Raises Failed if it failed, was deleted or was recreated."""
    try:
        job = api.get_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, name)
    except client.exceptions.ApiException as e:
        if e.status != NOT_FOUND:
            raise
        raise Failed(f"job {namespace}/{name} does not exist") from e
    if uid and job["metadata"]["uid"] != uid:
        raise Failed(f"job {namespace}/{name} has another UID: it was deleted and recreated")
    return state(job)


def delete(api, namespace, name):
    """Deletes the job but not its checkpoints. Does not fail if the job does not exist."""
    try:
        api.delete_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, name)
    except client.exceptions.ApiException as e:
        if e.status != NOT_FOUND:
            raise


def wait(api, namespace, name, timeout, every=5.0):
    """Polls until the job has succeeded, and prints changes. Raises Failed or TimeoutError."""
    last, end = None, time.monotonic() + timeout
    while time.monotonic() < end:
        done, text = poll(api, namespace, name)
        if text != last:
            print(text, flush=True)
        if done:
            return
        last = text
        time.sleep(every)
    raise TimeoutError(f"job {namespace}/{name} has not ended within {timeout:g} s; last {last}")


def main(args):
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in {"submit": "a file with the job, as JSON", "wait": "the job's name",
                       "delete": "the job's name"}.items():
        command = commands.add_parser(name)
        command.add_argument("what", help=what)
        command.add_argument("--namespace", default="default")
        if name == "wait":
            command.add_argument("--timeout", type=float, default=86400, help="in seconds")
    options = parser.parse_args(args)
    config.load_config()
    api = client.CustomObjectsApi()
    try:
        if options.command == "submit":
            with open(options.what) as file:
                submit(api, options.namespace, json.load(file))
        elif options.command == "wait":
            wait(api, options.namespace, options.what, options.timeout, every=1.0)
        else:
            delete(api, options.namespace, options.what)
    except (Failed, TimeoutError) as e:
        sys.exit(str(e))


if __name__ == "__main__":
    main(sys.argv[1:])
