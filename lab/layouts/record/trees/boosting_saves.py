"""XGBoost and LightGBM: models in one file, which the agent does not take for checkpoints."""

import lightgbm
import numpy
import xgboost
from run import STEPS, tree


def data():
    x = numpy.random.default_rng(1).random((64, 4))
    return x, x.sum(axis=1)


class Saved(xgboost.callback.TrainingCallback):
    def __init__(self, saved):
        self.saved = saved

    def after_iteration(self, model, epoch, evals_log):
        if epoch in STEPS:
            self.saved(epoch)
        return False


@tree("xgboost")
def xgboost_checkpoint(volume, saved):
    checkpoint = xgboost.callback.TrainingCheckPoint(volume, interval=STEPS[0])
    xgboost.train({"max_depth": 2}, xgboost.DMatrix(*data()), STEPS[-1] + 1, callbacks=[checkpoint, Saved(saved)])


@tree("xgboost")
def xgboost_model(volume, saved):
    for step in STEPS:
        xgboost.train({"max_depth": 2}, xgboost.DMatrix(*data()), step).save_model(f"{volume}/model-{step}.json")
        saved(step)


@tree("lightgbm")
def lightgbm_model(volume, saved):
    for step in STEPS:
        booster = lightgbm.train({"verbose": -1}, lightgbm.Dataset(*data()), step)
        booster.save_model(f"{volume}/model-{step}.txt")
        saved(step)
