-- +goose Up

-- A job. Times are seconds since 1970, UTC. What is filtered by has a column; job is the whole as JSON.
CREATE TABLE jobs (
	cluster          TEXT    NOT NULL,
	uid              TEXT    NOT NULL,
	resource_version TEXT    NOT NULL, -- empty: only the deletion is known
	namespace        TEXT    NOT NULL,
	name             TEXT    NOT NULL,
	user_name        TEXT    NOT NULL,
	queue            TEXT    NOT NULL,
	phase            TEXT    NOT NULL,
	created          INTEGER NOT NULL,
	finished         INTEGER,          -- the first that is known of its end: completed, deleted, or found gone
	exists_still     INTEGER NOT NULL, -- 1: it is not known to be deleted
	changed          INTEGER NOT NULL, -- counts the changes of this row and of those that belong to it
	sent             INTEGER NOT NULL, -- the value of changed up to which its run is with the tracking server
	job              TEXT    NOT NULL,
	manifest         TEXT    NOT NULL,
	PRIMARY KEY (cluster, uid)
) STRICT;
CREATE INDEX jobs_created ON jobs (cluster, created, uid);
CREATE INDEX jobs_phase ON jobs (cluster, phase, created, uid);
CREATE INDEX jobs_namespace ON jobs (cluster, namespace, created, uid);
CREATE INDEX jobs_namespace_phase ON jobs (cluster, namespace, phase, created, uid);
CREATE INDEX jobs_name ON jobs (cluster, namespace, name, created, uid);
CREATE INDEX jobs_user ON jobs (cluster, user_name, created, uid);
CREATE INDEX jobs_queue ON jobs (cluster, queue, created, uid);
CREATE INDEX jobs_queue_phase ON jobs (cluster, queue, phase, created, uid);
CREATE INDEX jobs_existing ON jobs (cluster, created, uid) WHERE exists_still = 1;
CREATE INDEX jobs_namespace_existing ON jobs (cluster, namespace, created, uid) WHERE exists_still = 1;
CREATE INDEX jobs_finished ON jobs (finished) WHERE finished IS NOT NULL;
CREATE INDEX jobs_unsent ON jobs (cluster, uid) WHERE changed > sent;

CREATE TABLE attempts (
	cluster          TEXT    NOT NULL,
	uid              TEXT    NOT NULL,
	number           INTEGER NOT NULL,
	queued           INTEGER,
	started          INTEGER,
	ended            INTEGER,
	end_phase        TEXT    NOT NULL,
	end_reason       TEXT    NOT NULL,
	resource_version TEXT    NOT NULL, -- empty: no version of the job was seen in it
	replicas         INTEGER NOT NULL,
	gpus             INTEGER NOT NULL,
	gpu_kind         TEXT    NOT NULL,
	queue            TEXT    NOT NULL,
	resumed_from     TEXT,             -- a checkpoint as JSON
	lost_steps       INTEGER,
	lost_seconds     INTEGER,
	lost_gpu_seconds INTEGER,
	PRIMARY KEY (cluster, uid, number),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE counts (
	cluster                    TEXT    NOT NULL,
	uid                        TEXT    NOT NULL,
	attempt                    INTEGER NOT NULL,
	preemptions                INTEGER NOT NULL,
	lost_steps                 INTEGER NOT NULL,
	lost_seconds               INTEGER NOT NULL,
	lost_gpu_seconds           INTEGER NOT NULL,
	asked                      INTEGER NOT NULL,
	saved                      INTEGER NOT NULL,
	preempted_lost_gpu_seconds INTEGER NOT NULL,
	room_made                  INTEGER NOT NULL,
	room_seconds               INTEGER NOT NULL,
	PRIMARY KEY (cluster, uid, attempt),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE transitions (
	cluster TEXT    NOT NULL,
	uid     TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	phase   TEXT    NOT NULL,
	reason  TEXT    NOT NULL,
	attempt INTEGER NOT NULL, -- 0: unknown
	nth     INTEGER NOT NULL,
	PRIMARY KEY (cluster, uid, at, phase, reason, attempt, nth),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE preemptions (
	cluster          TEXT    NOT NULL,
	uid              TEXT    NOT NULL,
	attempt          INTEGER NOT NULL,
	at               INTEGER NOT NULL,
	reason           TEXT    NOT NULL,
	caused_by        TEXT    NOT NULL,
	message          TEXT    NOT NULL,
	answer           TEXT    NOT NULL, -- empty: unknown, or the scheduler chose the gang
	lost_steps       INTEGER,
	lost_seconds     INTEGER,
	lost_gpu_seconds INTEGER,
	PRIMARY KEY (cluster, uid, attempt),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE samples (
	cluster TEXT    NOT NULL,
	uid     TEXT    NOT NULL,
	attempt INTEGER NOT NULL,
	step    INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	percent INTEGER,
	epoch   TEXT    NOT NULL,
	metrics TEXT    NOT NULL, -- an object of texts as JSON; empty for none
	PRIMARY KEY (cluster, uid, attempt, step),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
	cluster TEXT    NOT NULL,
	uid     TEXT    NOT NULL,
	step    INTEGER NOT NULL,
	uri     TEXT    NOT NULL,
	attempt INTEGER NOT NULL, -- 0: unknown
	at      INTEGER,
	PRIMARY KEY (cluster, uid, step, uri),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The run of a job at a tracking server.
CREATE TABLE runs (
	cluster       TEXT    NOT NULL,
	uid           TEXT    NOT NULL,
	experiment_id TEXT    NOT NULL,
	run_id        TEXT    NOT NULL,
	state         TEXT    NOT NULL, -- JSON of the exporter; empty for none
	updated       INTEGER NOT NULL,
	PRIMARY KEY (cluster, uid),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What was used by each namespace and kind of GPU, in grains: 1 by day, 2 by month; 3 and 4 the same by queue, too;
-- 5 and 6 the same by user, too, but not by queue; 7 by day and everything. It has all but what still goes on, and
-- stays when jobs are pruned, but for grain 7.
CREATE TABLE usage (
	cluster                    TEXT    NOT NULL,
	grain                      INTEGER NOT NULL,
	start                      INTEGER NOT NULL, -- of the day or the month
	namespace                  TEXT    NOT NULL,
	queue                      TEXT    NOT NULL,
	gpu_kind                   TEXT    NOT NULL,
	user_name                  TEXT    NOT NULL,
	uid                        TEXT    NOT NULL,
	queued_seconds             INTEGER NOT NULL,
	running_seconds            INTEGER NOT NULL,
	gpu_seconds                INTEGER NOT NULL,
	lost_seconds               INTEGER NOT NULL,
	lost_gpu_seconds           INTEGER NOT NULL,
	jobs                       INTEGER NOT NULL,
	attempts                   INTEGER NOT NULL,
	preemptions                INTEGER NOT NULL,
	assumed                    INTEGER NOT NULL,
	unknown_ends               INTEGER NOT NULL,
	asked                      INTEGER NOT NULL,
	saved                      INTEGER NOT NULL,
	preempted_lost_gpu_seconds INTEGER NOT NULL,
	room_made                  INTEGER NOT NULL,
	room_seconds               INTEGER NOT NULL,
	PRIMARY KEY (cluster, grain, start, namespace, queue, gpu_kind, user_name, uid)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_job ON usage (cluster, uid) WHERE grain = 7;

-- What still goes on: it is counted up to the time of the question.
CREATE TABLE open_spans (
	cluster   TEXT    NOT NULL,
	uid       TEXT    NOT NULL,
	attempt   INTEGER NOT NULL,
	running   INTEGER NOT NULL,
	since     INTEGER NOT NULL,
	namespace TEXT    NOT NULL,
	queue     TEXT    NOT NULL,
	gpu_kind  TEXT    NOT NULL,
	user_name TEXT    NOT NULL,
	gpus      INTEGER NOT NULL,
	PRIMARY KEY (cluster, uid, attempt, running, since),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Jobs that were pruned, so that one which the cluster still has is not counted again.
CREATE TABLE pruned (
	cluster TEXT    NOT NULL,
	uid     TEXT    NOT NULL,
	PRIMARY KEY (cluster, uid)
) STRICT, WITHOUT ROWID;

-- One row, written to find out whether the database can be written.
CREATE TABLE probe (
	id      INTEGER NOT NULL PRIMARY KEY,
	counter INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE probe;
DROP TABLE pruned;
DROP TABLE open_spans;
DROP TABLE usage;
DROP TABLE runs;
DROP TABLE checkpoints;
DROP TABLE samples;
DROP TABLE preemptions;
DROP TABLE transitions;
DROP TABLE counts;
DROP TABLE attempts;
DROP TABLE jobs;
