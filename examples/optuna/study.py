"""How do I tune hyperparameters with Optuna?

Each trial is a TrainingJob. Optuna chooses its hyperparameters and prunes it by the metric that its trainer
reports, as trial.py does. The driver needs optuna, kubernetes and PyYAML, and an account that can list, get,
create and delete trainingjobs. Run one driver per study:

    cd examples/optuna
    python3 study.py --study valley --storage sqlite:///valley.db --job trial.yaml

You can stop or kill it at any time. The jobs continue, and the same command resumes the study. For your own
search, change suggest() and open_study().
"""

import argparse
import copy
import math
import signal
import sys
import time
import uuid

import optuna
import urllib3
import yaml
from kubernetes import client, config
from optuna.trial import TrialState

GROUP, VERSION, PLURAL = "mlplatform.example.com", "v1alpha1", "trainingjobs"
STUDY_LABEL, TRIAL_LABEL = "optuna-study", "optuna-trial"
UID, PRUNED, FAILURE = "uid", "pruned", "failure"  # user attributes of a trial
PERIOD, LONGEST_BACKOFF = 10, 300  # between two lists of the jobs, in seconds
NOT_FOUND, CONFLICT, TOO_MANY_REQUESTS = 404, 409, 429


class ForeignJob(Exception):
    """A job that is not of this study has the name of a trial's job."""


def suggest(trial):
    """Returns the hyperparameters of a trial. The trainer gets lr as HYPERPARAM_LR."""
    return {
        "lr": trial.suggest_float("lr", 1e-4, 1.0, log=True),
        "momentum": trial.suggest_float("momentum", 0.0, 0.99),
    }


def open_study(name, storage, direction):
    """Creates the study, or loads it if the storage has it."""
    # The operator publishes a report at most every 20 seconds, so trials report different steps. Successive
    # halving also compares near steps; MedianPruner does not. Set min_resource to the steps of some minutes.
    study = optuna.create_study(
        study_name=name,
        storage=storage,
        direction=direction,
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(constant_liar=True),  # for trials that run at the same time
        pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=60),
    )
    if study.direction.name.lower() != direction:
        sys.exit(f"study {name} has another direction: set --direction {study.direction.name.lower()}")
    return study


class Driver:
    """Runs the trials of a study as jobs.

    Its state is in the study and in the jobs, so that another driver can continue after a kill: it creates or
    finds the job of a trial without a UID, and deletes the job of a trial that is marked as pruned.
    """

    def __init__(self, api, study, template, options, sleep=time.sleep):
        self.api, self.study, self.template, self.options, self.sleep = api, study, template, options, sleep
        if "id" not in study.user_attrs:  # the name of a study is not unique among storages
            study.set_user_attr("id", str(uuid.uuid4()))
        self.id = study.user_attrs["id"]
        self.resource = GROUP, VERSION, options.namespace, PLURAL
        self.trials = {}  # optuna.trial.Trial by number

    def run(self):
        """Returns when the study has all its trials. Retries with a backoff while the API server fails."""
        errors = 0
        while True:
            try:
                if self.round():
                    return
                errors = 0
            except (client.exceptions.ApiException, urllib3.exceptions.HTTPError) as e:
                status = getattr(e, "status", None) or 0
                if 400 <= status < 500 and status not in (CONFLICT, TOO_MANY_REQUESTS):
                    raise
                errors += 1
                print(f"retrying after {' '.join(str(e).split())[:300]}", file=sys.stderr, flush=True)
            self.sleep(min(PERIOD * 2 ** min(errors, 10), LONGEST_BACKOFF))

    def round(self):
        """Updates running trials from their jobs, then starts trials. Returns whether all have finished."""
        found = self.api.list_namespaced_custom_object(
            *self.resource, label_selector=f"{STUDY_LABEL}={self.id}", _request_timeout=60
        )
        jobs = {job["metadata"]["name"]: job for job in found["items"]}
        for trial in self.running():
            if UID in trial.user_attrs:
                self.update(trial, jobs.get(self.name(trial)))
        for trial in self.running():
            if UID not in trial.user_attrs:
                self.start(self.live(trial))
        begun = sum(t.state != TrialState.WAITING for t in self.study.get_trials(deepcopy=False))
        free = self.options.parallel - len(self.running())
        for _ in range(min(free, self.options.trials - begun)):
            self.start(self.study.ask())
        return not self.running()

    def start(self, trial):
        """Creates the job of a trial, or finds the job that a killed driver created."""
        job = self.job(trial)
        try:
            made = self.api.create_namespaced_custom_object(*self.resource, job, _request_timeout=60)
        except client.exceptions.ApiException as e:
            if e.status != CONFLICT:
                raise
            made = self.existing(job, e)
        trial.set_user_attr(UID, made["metadata"]["uid"])
        print(f"trial {trial.number}: job {self.name(trial)}, {trial.params}", flush=True)

    def existing(self, job, conflict):
        name, labels = job["metadata"]["name"], job["metadata"]["labels"]
        try:
            found = self.api.get_namespaced_custom_object(*self.resource, name, _request_timeout=60)
        except client.exceptions.ApiException as e:
            raise conflict if e.status == NOT_FOUND else e
        has = found["metadata"].get("labels", {})
        if any(has.get(label) != labels[label] for label in (STUDY_LABEL, TRIAL_LABEL)):
            raise ForeignJob(
                f"job {self.options.namespace}/{name} exists and is not of this study: delete the job and "
                "run the same command again, or choose another --study"
            )
        return found

    def update(self, trial, job):
        """Reports the metric of a trial's job to Optuna. Prunes or finishes the trial."""
        pruned = PRUNED in trial.user_attrs
        if job is None or job["metadata"]["uid"] != trial.user_attrs[UID]:
            if not pruned:
                return self.fail(trial, f"job {self.name(trial)} was deleted")
            self.study.tell(trial.number, state=TrialState.PRUNED)
            return print(f"trial {trial.number}: pruned at step {trial.user_attrs[PRUNED]}", flush=True)
        if pruned:
            return self.delete(job)
        status = job.get("status", {})
        if status.get("phase") == "Failed":
            return self.fail(trial, status.get("message", ""))
        progress, live = status.get("progress", {}), self.live(trial)
        step, text = progress.get("step", 0), progress.get("metrics", {}).get(self.options.metric)
        # A trainer that restarts from scratch repeats steps. Optuna has them already.
        if text is not None and step > max(trial.intermediate_values, default=-1):
            live.report(float(text), step)
        if status.get("phase") == "Succeeded":
            self.finish(trial, text)
        elif live.should_prune():
            # Before the deletion, so that the next driver does not take the missing job for a failure.
            live.set_user_attr(PRUNED, step)
            self.delete(job)

    def finish(self, trial, text):
        if text is None or math.isnan(float(text)):
            what = "has not reported the metric" if text is None else "has reported NaN as its last"
            return self.fail(trial, f"job {self.name(trial)} succeeded but {what} {self.options.metric}")
        self.study.tell(trial.number, float(text))
        print(f"trial {trial.number}: {self.options.metric} {text}", flush=True)

    def fail(self, trial, reason):
        self.live(trial).set_user_attr(FAILURE, reason[:1000])
        self.study.tell(trial.number, state=TrialState.FAIL)
        print(f"trial {trial.number}: failed: {reason}", flush=True)

    def delete(self, job):
        """Deletes a job. The trial counts as running until the pods have ended and the job does not exist."""
        meta = job["metadata"]
        if "deletionTimestamp" in meta:
            return
        body = {"propagationPolicy": "Foreground", "preconditions": {"uid": meta["uid"]}}
        try:
            self.api.delete_namespaced_custom_object(
                *self.resource, meta["name"], body=body, _request_timeout=60
            )
        except client.exceptions.ApiException as e:
            if e.status not in (NOT_FOUND, CONFLICT):  # a conflict: the name has another UID
                raise

    def job(self, trial):
        job = copy.deepcopy(self.template)
        meta, spec = job.setdefault("metadata", {}), job["spec"]
        meta["name"] = self.name(trial)
        meta.setdefault("labels", {}).update({STUDY_LABEL: self.id, TRIAL_LABEL: str(trial.number)})
        spec.setdefault("hyperparameters", {}).update(suggest(trial))
        policy = {"queue": self.options.queue, "priorityClass": self.options.priority_class}
        policy = {field: value for field, value in policy.items() if value}
        if policy:
            spec.setdefault("runPolicy", {}).setdefault("schedulingPolicy", {}).update(policy)
        return job

    def name(self, trial):
        return f"{self.options.study}-{trial.number}"

    def running(self):
        return self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))

    def live(self, trial):
        # study.ask() returns new trials only. The constructor is public, but the ID has no public name.
        if trial.number not in self.trials:
            self.trials[trial.number] = optuna.trial.Trial(self.study, trial._trial_id)
        return self.trials[trial.number]


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return int(text)


def parse(args):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--study", required=True, help="name of the study and prefix of the jobs' names")
    add("--storage", required=True, help="URL of Optuna's storage, such as sqlite:///valley.db")
    add("--job", required=True, help="file with the job of a trial, as YAML")
    add("--namespace", default="default")
    add("--metric", default="loss", help="metric that the trainer reports")
    add("--direction", default="minimize", choices=["minimize", "maximize"])
    add(
        "--trials",
        type=positive,
        default=50,
        help="trials of the study, with those that were pruned or failed",
    )
    add("--parallel", type=positive, default=4, help="trials at the same time")
    add("--queue", help="queue of the jobs")
    add("--priority-class", help="priority class of the jobs")
    return parser.parse_args(args)


def main(args):
    options = parse(args)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with open(options.job) as file:
            template = yaml.safe_load(file)
        config.load_config()
        study = open_study(options.study, options.storage, options.direction)
        Driver(client.CustomObjectsApi(), study, template, options).run()
    except KeyboardInterrupt:
        sys.exit("stopped: the jobs continue; run the same command again to resume the study")
    except (ForeignJob, client.exceptions.ApiException) as e:
        sys.exit(f"{e}\nThe jobs of other trials continue; run the same command again to resume the study.")
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        sys.exit("no trial has completed: see the user attribute failure of the trials")
    best = study.best_trial
    print(f"best: trial {best.number}, {options.metric} {best.value:g}, {best.params}")


if __name__ == "__main__":
    main(sys.argv[1:])
