"""How does Airflow train every night, and wait without occupying a worker?

Copy it with trainingjob.py and job.json into the folder of DAGs. It needs the provider cncf.kubernetes, and a
connection whose account can create, get and delete trainingjobs in the namespace.
"""

import copy
import json
import pathlib

import pendulum
from airflow.decorators import dag, task
from airflow.exceptions import AirflowFailException
from airflow.providers.cncf.kubernetes.hooks.kubernetes import KubernetesHook
from airflow.sensors.base import PokeReturnValue

import trainingjob

NAMESPACE = "team-a"
JOB = json.loads((pathlib.Path(__file__).parent / "job.json").read_text())


def api():
    return KubernetesHook(conn_id="kubernetes_default").custom_object_client


@dag(schedule="@daily", start_date=pendulum.datetime(2026, 1, 1), catchup=False)
def train_nightly():
    # Airflow needs no retries: the operator restarts the job, and the job resumes (backoffLimit).
    @task(retries=0)
    def submit(ds_nodash=None):
        job = copy.deepcopy(JOB)
        job["metadata"]["name"] = f"nightly-{ds_nodash}"
        return {"name": job["metadata"]["name"], "uid": trainingjob.submit(api(), NAMESPACE, job)}

    @task.sensor(mode="reschedule", poke_interval=60, timeout=7 * 24 * 3600)
    def trained(made):
        try:
            done, text = trainingjob.poll(api(), NAMESPACE, made["name"], made["uid"])
        except trainingjob.Failed as e:
            raise AirflowFailException(str(e)) from e
        print(text)
        return PokeReturnValue(is_done=done)

    trained(submit())


train_nightly()
