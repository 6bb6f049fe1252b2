"""LightGBM: all ranks listen, and the first one saves and decides when to stop."""

import os
import socket
import sys
import time

import lightgbm
import numpy
from gang import RESUME, STEPS, Gang
from trainingjob import job


def address(host):
    """LightGBM finds itself among the machines by its addresses. Names are known when a rank's pod runs."""
    while True:
        try:
            return socket.gethostbyname(host)
        except OSError:
            time.sleep(0.5)


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    machines = [(address(os.environ["MASTER_ADDR"]), os.environ["MASTER_PORT"])]
    machines += [(address(host), os.environ["WORKER_PORT"]) for host in os.environ["WORKER_ADDRS"].split(",")]
    gang = Gang(rank == 0, reports=False)
    random = numpy.random.default_rng(rank)
    data = random.normal(size=(500, 4))
    model = lightgbm.Booster(model_file=RESUME + "/model.txt") if RESUME else None
    begin = model.current_iteration() if model else 0
    gang.log("start", step=begin)
    last = {}

    def after_iteration(env):
        step, loss = env.model.current_iteration(), env.evaluation_result_list[0][2]
        last["loss"] = loss
        gang.stepped(step, loss)
        job.report(step, total=STEPS, metrics={"l2": loss})
        if job.should_save():
            where = job.checkpoint_path(step)
            os.makedirs(where)
            env.model.save_model(where + "/model.txt")
            job.commit(where, step)
            gang.saved(step)
        # Rank 0 cannot end its iteration without the others: they train on at SIGTERM, until it has saved.
        if rank == 0 and job.should_stop:
            sys.exit(0)

    matrix = lightgbm.Dataset(data, numpy.sin(data.sum(1)), free_raw_data=False)
    model = lightgbm.train(
        {"objective": "regression", "num_leaves": 8, "learning_rate": 0.05, "num_threads": 1, "verbose": -1,
         "tree_learner": "data", "pre_partition": True, "deterministic": True, "force_row_wise": True,
         "num_machines": size, "machines": ",".join(":".join(m) for m in machines),
         "local_listen_port": int(machines[rank][1])},
        matrix, STEPS - begin, valid_sets=[matrix], init_model=model, callbacks=[after_iteration])
    gang.finished(STEPS, last["loss"], [model.predict(data)])
    job.complete()


if __name__ == "__main__":
    main()
