"""The trainer of a trial: gradient descent on a long, narrow valley. It reports the loss after each step.

study.py prunes the trial by these reports, and the last one is the trial's value.
"""

import os
import time

from trainingjob import job


def main():
    rate, momentum = float(os.environ["HYPERPARAM_LR"]), float(os.environ["HYPERPARAM_MOMENTUM"])
    steps, seconds = int(os.environ["HYPERPARAM_STEPS"]), float(os.environ.get("HYPERPARAM_STEPSECONDS", "1"))
    x, y, speed_x, speed_y = 1.0, 1.0, 0.0, 0.0
    for step in range(1, steps + 1):
        speed_x = momentum * speed_x - rate * 2 * x
        speed_y = momentum * speed_y - rate * 20 * y
        x, y = x + speed_x, y + speed_y
        # With too high a rate the loss becomes inf and then nan.
        job.report(step, total=steps, metrics={"loss": x * x + 10 * y * y})
        time.sleep(seconds)
    job.complete()


if __name__ == "__main__":
    main()
