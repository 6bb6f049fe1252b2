import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from trainingjob import Job


class JobTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.base = os.path.join(self.dir, "attempt-2")
        self.env = {
            "CHECKPOINT_DIR": self.base,
            "CHECKPOINT_INTERVAL_SECONDS": "3600",
            "TRAININGJOB_STATUS_FILE": os.path.join(self.dir, "status.json"),
            "TRAININGJOB_COMMAND_FILE": os.path.join(self.dir, "command.json"),
            "TRAININGJOB_SETTINGS_FILE": os.path.join(self.dir, "settings.json"),
            "TRAININGJOB_UID": "0a1b",
            "TRAININGJOB_ATTEMPT": "2",
            "RANK": "0",
        }
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))

    def job(self, **env):
        return Job({**self.env, **env})

    def write(self, name, message):
        with open(os.path.join(self.dir, name), "w") as f:
            json.dump(message, f)

    def status(self):
        with open(self.env["TRAININGJOB_STATUS_FILE"]) as f:
            return json.load(f)

    def save(self, job, step):
        path = job.checkpoint_path(step)
        os.makedirs(path)
        with open(os.path.join(path, "model.pt"), "w") as f:
            f.write("weights")
        job.commit(path, step)
        return path

    def test_report(self):
        job = self.job()
        job.report(7, total=9, metrics={"loss": 0.5, "nan": float("nan")}, epoch=0.5)
        job.report(8)
        want = {
            "step": 8,
            "totalSteps": 9,
            "phase": "Training",
            "epoch": 0.5,
            "metrics": {"loss": 0.5, "nan": "nan"},
        }
        self.assertEqual(want, self.status())
        self.assertEqual(["status.json"], os.listdir(self.dir))
        job.complete()
        self.assertEqual("Completed", self.status()["phase"])

    def test_report_drops_what_the_agent_rejects(self):
        job = self.job()
        metrics = {f"m{i}": i for i in range(40)}
        with self.assertLogs("trainingjob", logging.WARNING) as logs:
            for _ in range(3):
                job.report(1, total=0, epoch=float("nan"), metrics={"a b": 1, "text": "x", **metrics})
            job.report(-1)
            job.report(1.5)
        self.assertEqual(32, len(self.status()["metrics"]))
        self.assertEqual({"step", "phase", "metrics"}, set(self.status()))
        self.assertEqual(6, len(logs.records), [r.getMessage() for r in logs.records])

    def test_words_for_rehearsals(self):
        job = self.job(TRAININGJOB_REHEARSAL="1")
        self.assertTrue(job.rehearsal)
        job.report(7, weights="0f0f", loaded=pathlib.Path("/checkpoints/attempt-1/step-7"))
        job.report(8, batch="a1")
        job.report(8, metrics={"loss": 1})
        status = self.status()
        self.assertEqual(("a1", "0f0f"), (status["batch"], status["weights"]))
        self.assertEqual("/checkpoints/attempt-1/step-7", status["loaded"])
        job.report(9)
        self.assertNotIn("batch", self.status(), "it is that of step 8")
        with self.assertLogs("trainingjob", logging.WARNING) as logs:
            for _ in range(3):
                job.report(10, batch="x" * 65, weights="a\nb", loaded=7)
        self.assertEqual(3, len(logs.records), [r.getMessage() for r in logs.records])
        self.assertNotIn("batch", self.status())
        self.assertFalse(self.job().rehearsal)

    def test_each_pod_reports_what_it_has_loaded(self):
        for want, env in (
            (True, {"RANK": "1"}),
            (True, {"RANK": "8", "LOCAL_RANK": "0"}),
            (False, {"RANK": "9", "LOCAL_RANK": "1"}),
            (False, {"RANK": "1", "TRAININGJOB_REHEARSAL": ""}),
        ):
            job = self.job(**{"TRAININGJOB_REHEARSAL": "1", **env})
            job.report(7)
            self.assertEqual([], os.listdir(self.dir))
            job.report(7, weights="0f0f", batch="a1")
            self.assertEqual(want, os.path.exists(self.env["TRAININGJOB_STATUS_FILE"]), env)
            if want:
                job.report(8, batch="a2")
                self.assertEqual((7, "0f0f"), (self.status()["step"], self.status()["weights"]))
                os.remove(self.env["TRAININGJOB_STATUS_FILE"])

    def test_report_survives_a_full_disk(self):
        job = self.job(TRAININGJOB_STATUS_FILE=os.path.join(self.dir, "missing", "status.json"))
        with self.assertLogs("trainingjob", logging.WARNING) as logs:
            job.report(1)
            job.report(2)
        self.assertEqual(1, len(logs.records))

    def test_other_ranks_neither_report_nor_decide(self):
        job = self.job(RANK="1")
        self.write("command.json", {"command": "CheckpointAndExit", "id": "drain-1"})
        job.report(1)
        job.commit(os.path.join(self.dir, "missing"), 1)
        self.assertFalse(job.should_save() or job.should_stop)
        self.assertEqual(["command.json"], os.listdir(self.dir))

    def beats(self, job, file="beat"):
        with open(os.path.join(self.dir, file), "rb") as f:
            line, _, _ = f.read().partition(b"\n")
        return line.decode().rstrip()

    def test_all_ranks_beat(self):
        job = self.job(RANK="1", TRAININGJOB_BEAT_FILE=os.path.join(self.dir, "beat"))
        job.report(7)
        self.assertEqual("7 Training", self.beats(job))
        job.beat(7, phase="Evaluating", where="validation", busy=1.5)
        self.assertEqual("7 Evaluating validation busy=1.500000", self.beats(job))
        job.report(7)
        self.assertEqual("7 Evaluating", self.beats(job), "the evaluation continues")
        job.beat(8, where="x" * 64, busy=1e11)
        job.report(9)
        self.assertEqual("9 Training", self.beats(job), "a line is shorter than the one before")
        job.complete()
        self.assertEqual("9 Completed", self.beats(job))
        self.assertEqual(["beat"], os.listdir(self.dir))

    def test_local_processes_have_files_of_their_own(self):
        job = self.job(LOCAL_RANK="3", TRAININGJOB_BEAT_FILE=os.path.join(self.dir, "beat"))
        job.beat(1)
        self.assertEqual("1 Training", self.beats(job, "beat.3"))

    def test_a_save_is_a_phase(self):
        job = self.job(TRAININGJOB_BEAT_FILE=os.path.join(self.dir, "beat"))
        job.report(7)
        self.write("command.json", {"command": "Checkpoint", "id": "save-1"})
        self.assertTrue(job.should_save())
        self.assertEqual("7 Saving", self.beats(job))
        self.save(job, 7)
        self.assertEqual("7 Training", self.beats(job))

    def test_beats_never_raise(self):
        job = self.job(TRAININGJOB_BEAT_FILE=os.path.join(self.dir, "missing", "beat"))
        with self.assertLogs("trainingjob", logging.WARNING) as logs:
            for _ in range(3):
                job.beat(1)
                job.beat(-1)
                job.beat(1, phase="Dancing")
                job.beat(1, where="a b", busy=-1)
        self.assertEqual(5, len(logs.records), [r.getMessage() for r in logs.records])

    def test_ranks(self):
        for want, env in (
            (0, {}),
            (3, {"RANK": "3"}),
            (2, {"PROCESS_ID": "2"}),
            (0, {"TF_CONFIG": '{"cluster": {"worker": []}, "task": {"type": "worker", "index": 0}}'}),
            (1, {"TF_CONFIG": '{"cluster": {"chief": []}, "task": {"type": "worker", "index": 0}}'}),
            (0, {"TF_CONFIG": '{"cluster": {"chief": []}, "task": {"type": "chief", "index": 0}}'}),
        ):
            self.assertEqual(want, Job(env).rank, env)

    def test_without_the_operator(self):
        job = Job({})
        handler = signal.getsignal(signal.SIGTERM)
        job.report(1, metrics={"loss": 1})
        self.assertIsNone(job.resume_path)
        self.assertFalse(job.should_save() or job.should_stop)
        job.complete()
        self.assertEqual("checkpoints/step-0000000001", job.checkpoint_path(1))
        self.assertEqual(handler, signal.getsignal(signal.SIGTERM))

    def test_a_command_is_executed_once(self):
        job = self.job()
        self.assertFalse(job.should_save())
        self.write("command.json", {"command": "Checkpoint", "id": "save-1"})
        self.assertTrue(job.should_save())
        self.save(job, 10)
        self.assertEqual("save-1", self.status()["commandId"])
        self.assertFalse(job.should_save() or job.should_stop)
        self.write("command.json", {"command": "CheckpointAndExit", "id": "drain-2"})
        self.assertFalse(job.should_stop, "the stop must wait for a save")
        self.assertTrue(job.should_save() and job.should_stop)
        self.save(job, 11)
        self.assertEqual("drain-2", self.status()["commandId"])
        self.assertFalse(job.should_save())
        self.assertTrue(job.should_stop)

    def test_a_trainer_that_never_saves_stops(self):
        self.write("command.json", {"command": "CheckpointAndExit", "id": "drain-1"})
        self.assertTrue(self.job().should_stop)

    def test_invalid_commands_are_ignored(self):
        job = self.job()
        for message in (
            [],
            {"command": "Dance", "id": "a"},
            {"command": "Checkpoint"},
            {"command": "Checkpoint", "id": ""},
        ):
            self.write("command.json", message)
            self.assertFalse(job.should_save(), message)

    def test_interval(self):
        job = self.job()
        self.assertEqual(3600, job.interval)
        self.write("settings.json", {"intervalSeconds": 60, "keepLast": 3})
        self.assertEqual(60, job.interval)
        job._last_save -= 61
        self.assertTrue(job.should_save())
        self.save(job, 1)
        self.assertFalse(job.should_save())

    def test_sigterm_calls_the_handler_before(self):
        received = []
        signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
        before = signal.getsignal(signal.SIGTERM)
        job = self.job()
        self.assertFalse(job.should_save())
        os.kill(os.getpid(), signal.SIGTERM)
        self.assertEqual([signal.SIGTERM], received)
        self.write("command.json", {"command": "CheckpointAndExit", "id": "sigterm"})
        self.assertTrue(job.should_save() and job.should_stop)
        self.save(job, 5)
        self.assertEqual("sigterm", self.status()["commandId"])
        self.assertFalse(job.should_save())
        job.complete()
        self.assertEqual(before, signal.getsignal(signal.SIGTERM))

    def test_children_end_on_sigterm(self):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.job().should_save()
        child = os.fork()
        if child == 0:
            os._exit(0 if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL else 1)
        self.assertEqual(0, os.waitpid(child, 0)[1])

    def test_exit_code_if_sigterm_comes_late(self):
        program = (
            "import os, signal; from trainingjob import job\n"
            "class Late:\n"
            "    def __del__(self, kill=os.kill, pid=os.getpid(), term=signal.SIGTERM): kill(pid, term)\n"
            "late = Late(); job.report(1)"
        )
        end = subprocess.run([sys.executable, "-c", program], env={**os.environ, **self.env}, check=False)
        self.assertEqual(0, end.returncode)

    def test_commit_rejects_what_is_not_complete(self):
        job = self.job()
        empty = os.path.join(self.base, "step-1")
        os.makedirs(empty)
        for path in (empty, os.path.join(self.base, "model.pt")):
            with self.assertRaises(ValueError):
                job.commit(path, 1)
        with self.assertRaises(ValueError):
            job.commit("s3://bucket/\n", 1)

    def test_commit_warns_of_a_place_that_is_not_searched(self):
        with self.assertLogs("trainingjob", logging.WARNING):
            self.job().commit("/elsewhere/step-1.ckpt", 1, manifest=False)


if __name__ == "__main__":
    unittest.main()
