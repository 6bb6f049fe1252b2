"""MXNet, with a dist_sync key-value store; Worker 0 decides, and saves.

Two runs of its default engine, which runs operators in parallel, differ at times from the second step on.
"""

import os
import signal

os.environ["MXNET_ENGINE_TYPE"] = "NaiveEngine"

if os.environ["DMLC_ROLE"] != "worker":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the workers need them to save, and end them

import mxnet  # noqa: E402 a scheduler and a server serve during the import, and exit
from gang import RESUME, STEPS, Gang  # noqa: E402
from trainingjob import job  # noqa: E402

SHARED = 1000  # the Trainer numbers its parameters from 0


def main():
    store = mxnet.kv.create("dist_sync")
    # The store numbers the workers as they come.
    job.rank = int(os.environ["DMLC_WORKER_ID"])
    gang = Gang(job.rank == 0, reports=False)
    mxnet.random.seed(1)
    net = mxnet.gluon.nn.HybridSequential()
    net.add(mxnet.gluon.nn.Dense(64, activation="tanh", in_units=32), mxnet.gluon.nn.Dense(1, in_units=64))
    net.initialize(mxnet.init.Xavier())
    trainer = mxnet.gluon.Trainer(
        net.collect_params(), "adam", {"learning_rate": 1e-3}, kvstore=store, update_on_kvstore=False)
    step = 0
    if RESUME:
        net.load_parameters(RESUME + "/net.params")
        trainer.load_states(RESUME + "/trainer.states")
        step = int(os.path.basename(RESUME).removeprefix("step-"))
    shared, save, stop = mxnet.nd.zeros(3), False, False
    store.init(SHARED, shared)
    gang.log("start", step=step)
    while step < STEPS:
        mxnet.random.seed(step * 10 + job.rank)
        x = mxnet.nd.random.normal(shape=(16, 32))
        with mxnet.autograd.record():
            loss = ((net(x) - x.sum(axis=1, keepdims=True).sin()) ** 2).mean()
        loss.backward()
        trainer.step(store.num_workers)
        step += 1
        # The sum over the workers of the losses, and the decision of Worker 0 in the step before.
        store.push(SHARED, mxnet.nd.array([loss.asscalar(), save, stop]))
        store.pull(SHARED, out=shared)
        total, saves, stops = shared.asnumpy()
        gang.stepped(step, total / store.num_workers)
        job.report(step, total=STEPS, metrics={"loss": total / store.num_workers})
        if saves and job.rank == 0:
            where = job.checkpoint_path(step)
            os.makedirs(where)
            net.save_parameters(where + "/net.params")
            trainer.save_states(where + "/trainer.states")
            job.commit(where, step)
            gang.saved(step)
        if stops:
            break
        save, stop = job.should_save(), job.should_stop
    else:
        gang.finished(step, total, [p.data().asnumpy() for p in net.collect_params().values()])
        job.complete()


if __name__ == "__main__":
    main()
