# An application on Celery whose broker is the server under test: BROKER, QUEUE and SEEN (a file with a line for each run of a task) are in the environment.
import os
import time

from celery import Celery

app = Celery("millrace", broker=os.environ["BROKER"])
app.conf.update(
    task_default_queue=os.environ["QUEUE"],
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    broker_transport_options={"region": "us-east-1", "visibility_timeout": 5, "polling_interval": 0.2, "wait_time_seconds": 2},
)


def saw(line):
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(line + "\n")


@app.task
def add(n):
    saw(f"add {n}")


@app.task(bind=True, max_retries=3)
def flaky(self):
    saw(f"flaky {self.request.retries}")
    if self.request.retries < 2:
        raise self.retry(countdown=1)


@app.task
def slow():
    saw("slow begins")
    time.sleep(3)
    saw("slow ends")
