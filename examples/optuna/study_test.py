"""Tests study.py with an API server and a storage in memory, which kill the driver before or after any call.

They use Optuna if it is installed, and otherwise the small part of it below. They pass with Optuna 5.0.0 and
need neither the client of Kubernetes nor PyYAML. Run them with and without Optuna after a change:

    python3 -m unittest examples/optuna/study_test.py
"""

import argparse
import contextlib
import importlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import types
import unittest


class FakeOptuna:
    """The part of Optuna that study.py uses. A storage has the methods of Optuna's storages that write."""

    TrialState = types.SimpleNamespace(
        **{
            name: types.SimpleNamespace(name=name)
            for name in ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
        }
    )

    class Storage:
        def __init__(self):
            self.trials, self.attrs = [], {}

        def create_new_trial(self, study):
            trial = types.SimpleNamespace(
                number=len(self.trials), _trial_id=1000 + len(self.trials), value=None
            )
            trial.state = FakeOptuna.TrialState.RUNNING
            trial.params, trial.user_attrs, trial.intermediate_values = {}, {}, {}
            self.trials.append(trial)
            return trial._trial_id

        def set_study_user_attr(self, study, key, value):
            self.attrs[key] = value

        def set_trial_param(self, trial, name, value):
            self.trials[trial - 1000].params[name] = value

        def set_trial_user_attr(self, trial, key, value):
            self.trials[trial - 1000].user_attrs[key] = value

        def set_trial_intermediate_value(self, trial, step, value):
            self.trials[trial - 1000].intermediate_values[step] = value

        def set_trial_state_values(self, trial, state, value):
            self.trials[trial - 1000].state, self.trials[trial - 1000].value = state, value

    class Study:
        def __init__(self, storage, pruner):
            self.storage, self.pruner = storage, pruner
            self.user_attrs = storage.attrs

        def set_user_attr(self, key, value):
            self.storage.set_study_user_attr(0, key, value)

        def get_trials(self, deepcopy=True, states=None):
            return [t for t in self.storage.trials if states is None or t.state in states]

        def ask(self):
            return FakeOptuna.Trial(self, self.storage.create_new_trial(0))

        def tell(self, number, value=None, state=None):
            trial = self.storage.trials[number]
            assert trial.state is FakeOptuna.TrialState.RUNNING, f"cannot tell a {trial.state.name} trial"
            state = state or FakeOptuna.TrialState.COMPLETE
            self.storage.set_trial_state_values(trial._trial_id, state, value)

    class Trial:
        def __init__(self, study, trial_id):
            self.study, self.id = study, trial_id
            self.frozen = study.storage.trials[trial_id - 1000]
            self.number, self.params = self.frozen.number, self.frozen.params

        def suggest_float(self, name, low, high, log=False):
            if name not in self.params:
                self.study.storage.set_trial_param(self.id, name, low)
            return self.params[name]

        def report(self, value, step):
            assert step not in self.frozen.intermediate_values, f"step {step} is reported twice"
            self.study.storage.set_trial_intermediate_value(self.id, step, value)

        def should_prune(self):
            return self.study.pruner.prune(self.study, self.frozen)

        def set_user_attr(self, key, value):
            self.study.storage.set_trial_user_attr(self.id, key, value)


class ApiException(Exception):
    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status = status


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members)


def load():
    """Imports study.py with modules in place of those that it needs. Returns Optuna if it is installed."""
    try:
        from optuna.trial import TrialState  # noqa: F401 (the folder optuna can be imported, too)

        optuna = importlib.import_module("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
    except ImportError:
        optuna = None
        trial = types.SimpleNamespace(Trial=FakeOptuna.Trial)
        module("optuna.trial", TrialState=FakeOptuna.TrialState)
        module("optuna", trial=trial, __path__=[])
    client = types.SimpleNamespace(exceptions=types.SimpleNamespace(ApiException=ApiException))
    module("kubernetes", client=client, config=None)
    module("urllib3", exceptions=types.SimpleNamespace(HTTPError=type("HTTPError", (Exception,), {})))
    module("yaml")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    return importlib.import_module("study"), optuna


study, optuna = load()
WRITES = [name for name in vars(FakeOptuna.Storage) if name.startswith(("set_", "create_"))]


class Kill(BaseException):
    """The end of a driver."""


class Faults:
    """Raises an error at the chosen call, before or after its effect."""

    def __init__(self):
        self.calls, self.at, self.error = 0, None, Kill

    def hit(self):
        self.calls += 1
        if self.calls == self.at:
            raise self.error()

    def around(self, call):
        def wrapped(*args, **kwargs):
            self.hit()
            result = call(*args, **kwargs)
            self.hit()
            return result

        return wrapped


class Pruner(optuna.pruners.BasePruner if optuna else object):
    def prune(self, study, trial):
        return (
            bool(trial.intermediate_values)
            and trial.intermediate_values[max(trial.intermediate_values)] > 100
        )


# What becomes of the job of each trial: the losses that it reports, and its last phase.
STORIES = [
    ([3, 2, 1], "Succeeded"),
    ([3] + [500] * 30, "Succeeded"),  # pruned
    ([3], "Failed"),
    ([], "Succeeded"),
    ([3, math.nan], "Succeeded"),
    ([4] + [math.inf] * 30, "Succeeded"),  # pruned
    ([5, 4], "Succeeded"),
]
WANT = ["COMPLETE", "PRUNED", "FAIL", "FAIL", "FAIL", "PRUNED", "COMPLETE"]


class Cluster:
    """A CustomObjectsApi. At each list every job trains a step. A deleted job is listed once more."""

    def __init__(self, faults):
        self.jobs, self.created, self.most = {}, [], 0
        for name in ("list", "create", "get", "delete"):
            setattr(self, f"{name}_namespaced_custom_object", faults.around(getattr(self, name)))

    def list(self, group, version, namespace, plural, label_selector, _request_timeout):
        label, value = label_selector.split("=")
        self.most = max(self.most, len(self.live()))
        for name, job in list(self.jobs.items()):
            if job["metadata"].get("deletionTimestamp") == "old":
                del self.jobs[name]
            elif "deletionTimestamp" in job["metadata"]:
                job["metadata"]["deletionTimestamp"] = "old"
        for job in self.live():
            self.train(job)
        items = [job for job in self.jobs.values() if job["metadata"]["labels"].get(label) == value]
        return {"items": json.loads(json.dumps(items))}

    def live(self):
        return [
            job for job in self.jobs.values() if job["status"].get("phase") not in ("Succeeded", "Failed")
        ]

    def train(self, job):
        losses, end = STORIES[int(job["metadata"]["labels"]["optuna-trial"])]
        status = job["status"]
        step = status.get("progress", {"step": 0})["step"]
        if step < len(losses):
            status["phase"] = "Running"
            status["progress"] = {"step": step + 1, "metrics": {"loss": str(losses[step])}}
        else:
            status.update(phase=end, message="rank 0 exited with code 1")

    def create(self, group, version, namespace, plural, job, _request_timeout):
        if job["metadata"]["name"] in self.jobs:
            raise ApiException(409)
        self.created.append(job["metadata"]["name"])
        made = json.loads(json.dumps({**job, "status": {}}))
        made["metadata"]["uid"] = f"uid-{len(self.created)}"
        self.jobs[job["metadata"]["name"]] = made
        return made

    def get(self, group, version, namespace, plural, name, _request_timeout):
        if name not in self.jobs:
            raise ApiException(404)
        return self.jobs[name]

    def delete(self, group, version, namespace, plural, name, body, _request_timeout):
        if name not in self.jobs:
            raise ApiException(404)
        meta = self.jobs[name]["metadata"]
        if body["preconditions"]["uid"] != meta["uid"]:
            raise ApiException(409)
        assert "deletionTimestamp" not in meta, "deleted twice"
        assert body["propagationPolicy"] == "Foreground"
        meta["deletionTimestamp"] = "new"


class World:
    """A cluster and a storage that outlive drivers."""

    def __init__(self, stable_storage=False):
        self.faults = Faults()
        self.cluster = Cluster(self.faults)
        self.storage = optuna.storages.InMemoryStorage() if optuna else FakeOptuna.Storage()
        if optuna:
            optuna.create_study(study_name="s", storage=self.storage)
        for name in [] if stable_storage else WRITES:
            setattr(self.storage, name, self.faults.around(getattr(self.storage, name)))
        self.options = argparse.Namespace(
            study="s",
            namespace="team-a",
            metric="loss",
            trials=len(STORIES),
            parallel=3,
            queue="",
            priority_class="",
        )
        self.pauses = []

    def open(self):
        if optuna:
            sampler = optuna.samplers.RandomSampler(seed=1)
            return optuna.load_study(study_name="s", storage=self.storage, sampler=sampler, pruner=Pruner())
        return FakeOptuna.Study(self.storage, Pruner())

    def driver(self):
        template = {"spec": {"hyperparameters": {"steps": 5}}}
        return study.Driver(self.cluster, self.open(), template, self.options, self.pauses.append)

    def run(self):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.driver().run()

    def trials(self):
        return self.open().get_trials()


class StudyTest(unittest.TestCase):
    def check(self, world):
        trials = world.trials()
        self.assertEqual(WANT, [t.state.name for t in trials])
        self.assertEqual([1, 4], [t.value for t in trials if t.state.name == "COMPLETE"])
        names = [f"s-{i}" for i in range(len(WANT))]
        self.assertEqual(names, sorted(world.cluster.created), "a job was created twice, or not at all")
        self.assertEqual([], world.cluster.live(), "a job still runs")
        kept = [name for name, state in zip(names, WANT) if state != "PRUNED"]
        self.assertEqual(kept, sorted(world.cluster.jobs), "only the jobs of pruned trials are deleted")
        self.assertLessEqual(world.cluster.most, world.options.parallel)

    def test_runs_all_trials(self):
        world = World()
        world.run()
        self.check(world)
        reasons = [t.user_attrs["failure"] for t in world.trials() if t.state.name == "FAIL"]
        self.assertEqual(
            [
                "rank 0 exited with code 1",
                "job s-3 succeeded but has not reported the metric loss",
                "job s-4 succeeded but has reported NaN as its last loss",
            ],
            reasons,
        )
        self.assertEqual({10}, set(world.pauses))
        spec = world.cluster.jobs["s-0"]["spec"]
        self.assertEqual({"lr", "momentum", "steps"}, set(spec["hyperparameters"]))
        self.assertNotIn("runPolicy", spec)

    def at_each_call(self, error, play, **options):
        """Plays once for each call of a run, with an error before or after that call."""
        calls = World(**options)
        calls.run()
        self.assertGreater(calls.faults.calls, 30)
        for at in range(1, calls.faults.calls + 1):
            with self.subTest(call=at):
                world = World(**options)
                world.faults.at, world.faults.error = at, error
                play(world)
                self.check(world)

    def test_a_killed_driver_is_continued(self):
        def play(world):
            with self.assertRaises(Kill):
                world.run()
            world.run()

        self.at_each_call(Kill, play)

    def test_drivers_that_are_killed_again_and_again_are_continued(self):
        def play(world):
            for again in (1, 2, 3, 5, 8):
                with contextlib.suppress(Kill):
                    world.run()
                world.faults.at = world.faults.calls + again
            world.faults.at = None
            world.run()

        self.at_each_call(Kill, play)

    def test_retries_when_the_api_server_is_unavailable(self):
        def play(world):
            world.run()
            self.assertIn(20, world.pauses)

        for error in (lambda: ApiException(503), study.urllib3.exceptions.HTTPError):
            self.at_each_call(error, play, stable_storage=True)

    def test_waits_longer_after_each_error(self):
        world = World()
        errors = [ApiException(503)] * 7
        listing = world.cluster.list_namespaced_custom_object

        def unavailable(*args, **kwargs):
            if errors:
                raise errors.pop()
            return listing(*args, **kwargs)

        world.cluster.list_namespaced_custom_object = unavailable
        world.run()
        self.assertEqual([20, 40, 80, 160, 300, 300, 300, 10], world.pauses[:8])

    def test_does_not_retry_what_the_api_server_rejects(self):
        for status in (400, 403, 422):
            world = World()
            world.faults.at, world.faults.error = 3, lambda status=status: ApiException(status)
            with self.assertRaises(ApiException):
                world.run()

    def test_does_not_adopt_a_job_of_another_study(self):
        for labels in ({}, {"optuna-study": "another", "optuna-trial": "0"}):
            world = World()
            world.cluster.jobs["s-0"] = {
                "metadata": {"name": "s-0", "uid": "u", "labels": labels},
                "status": {},
            }
            world.cluster.jobs["s-0"]["status"]["phase"] = "Succeeded"
            with self.assertRaisesRegex(study.ForeignJob, "job team-a/s-0 .* delete the job .* --study"):
                world.run()
            del world.cluster.jobs["s-0"]
            world.run()
            self.check(world)

    def test_a_deleted_or_recreated_job_is_a_failure(self):
        for recreated in (False, True):
            world = World()
            world.options.trials = 1
            driver = world.driver()
            with contextlib.redirect_stdout(io.StringIO()):
                driver.round()
                job = world.cluster.jobs.pop("s-0")
                if recreated:
                    job["metadata"]["uid"] = "another"
                    world.cluster.jobs["s-0"] = job
                self.assertTrue(driver.round())
            self.assertEqual("job s-0 was deleted", world.trials()[0].user_attrs["failure"])
            self.assertEqual(recreated, "s-0" in world.cluster.jobs)

    def test_a_job_that_is_gone_before_it_is_deleted_is_pruned(self):
        for gone in (True, False):
            world = World()
            delete = world.cluster.delete_namespaced_custom_object

            def late(*args, world=world, gone=gone, delete=delete, **kwargs):
                job = world.cluster.jobs.pop(args[4])
                if not gone:
                    job["metadata"]["uid"], job["status"] = "another", {"phase": "Succeeded"}
                    world.cluster.jobs[args[4]] = job
                delete(*args, **kwargs)

            world.cluster.delete_namespaced_custom_object = late
            world.run()
            self.assertEqual(WANT, [t.state.name for t in world.trials()])

    def test_a_trainer_that_starts_again_repeats_steps(self):
        world = World()
        world.options.trials = 1
        driver = world.driver()
        with contextlib.redirect_stdout(io.StringIO()):
            for _ in range(3):
                driver.round()
            world.cluster.jobs["s-0"]["status"] = {"phase": "Running"}
            while not driver.round():
                pass
        self.assertEqual({1: 3, 2: 2, 3: 1}, world.trials()[0].intermediate_values)

    def test_sets_the_queue_and_the_priority_class(self):
        world = World()
        world.options.queue, world.options.priority_class = "research", "low"
        world.run()
        policy = world.cluster.jobs["s-0"]["spec"]["runPolicy"]["schedulingPolicy"]
        self.assertEqual({"queue": "research", "priorityClass": "low"}, policy)


class TrainerTest(unittest.TestCase):
    def test_reports_its_loss(self):
        with tempfile.TemporaryDirectory() as folder:
            status, here = os.path.join(folder, "status.json"), os.path.dirname(os.path.abspath(__file__))
            env = {
                **os.environ,
                "PYTHONPATH": os.path.join(here, "../../python"),
                "TRAININGJOB_STATUS_FILE": status,
            }
            for name, value in {"LR": "0.05", "MOMENTUM": "0", "STEPS": "20", "STEPSECONDS": "0"}.items():
                env[f"HYPERPARAM_{name}"] = value
            subprocess.run([sys.executable, os.path.join(here, "trial.py")], env=env, check=True, timeout=60)
            with open(status) as file:
                report = json.load(file)
        self.assertEqual((20, "Completed"), (report["step"], report["phase"]))
        self.assertLess(report["metrics"]["loss"], 0.1)


if __name__ == "__main__":
    unittest.main()
