"""Reports progress to the TrainingJob operator, and saves and stops on its request."""

from trainingjob._job import Job

__all__ = ["Job", "job"]

#: The job of this process.
job = Job()
