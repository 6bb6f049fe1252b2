"""XGBoost: the first rank runs the tracker, and saves."""

import os

import numpy
import xgboost
from gang import RESUME, STEPS, Gang
from trainingjob import job
from xgboost import collective


class Log(xgboost.callback.TrainingCallback):
    def __init__(self, gang):
        self.gang = gang

    def after_iteration(self, model, epoch, evals_log):
        step, loss = model.num_boosted_rounds(), evals_log["train"]["rmse"][-1]
        self.gang.stepped(step, loss)
        job.report(step, total=STEPS, metrics={"rmse": loss})
        # All ranks must leave in the same round.
        save, stop = collective.broadcast((job.should_save(), job.should_stop), 0)
        if save and collective.get_rank() == 0:
            where = job.checkpoint_path(step)
            os.makedirs(where)
            model.save_model(where + "/model.ubj")
            job.commit(where, step)
            self.gang.saved(step)
        self.loss = loss
        return stop


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    tracker, port = None, int(os.environ["DMLC_TRACKER_PORT"])
    if rank == 0:
        tracker = xgboost.tracker.RabitTracker(n_workers=size, host_ip="0.0.0.0", port=port, sortby="task")
        tracker.start()
    gang = Gang(rank == 0, reports=False)
    random = numpy.random.default_rng(rank)
    data = random.normal(size=(500, 4))
    # XGBoost 2.1 and later read none of these variables themselves.
    with collective.CommunicatorContext(
            dmlc_communicator="rabit", dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"], dmlc_tracker_port=port,
            dmlc_task_id=os.environ["DMLC_TASK_ID"]):
        matrix = xgboost.DMatrix(data, numpy.sin(data.sum(1)))
        begin, model = 0, None
        if RESUME:
            model = xgboost.Booster(model_file=RESUME + "/model.ubj")
            begin = model.num_boosted_rounds()
        gang.log("start", step=begin)
        log = Log(gang)
        model = xgboost.train(
            {"tree_method": "hist", "max_depth": 3, "eta": 0.05, "nthread": 1}, matrix, STEPS - begin,
            evals=[(matrix, "train")], xgb_model=model, callbacks=[log], verbose_eval=False)
        if model.num_boosted_rounds() == STEPS:
            gang.finished(STEPS, log.loss, [numpy.frombuffer(model.save_raw("ubj"), dtype=numpy.uint8)])
            job.complete()
    if tracker is not None:
        tracker.wait_for()


if __name__ == "__main__":
    main()
