-- +goose Up

-- A job. Times are seconds since 1970, UTC. What is filtered by has a column; job is the whole as JSON.
CREATE TABLE jobs (
	cluster          TEXT COLLATE "C" NOT NULL,
	uid              TEXT COLLATE "C" NOT NULL,
	resource_version TEXT COLLATE "C" NOT NULL, -- empty: only the deletion is known
	namespace        TEXT COLLATE "C" NOT NULL,
	name             TEXT COLLATE "C" NOT NULL,
	user_name        TEXT COLLATE "C" NOT NULL,
	queue            TEXT COLLATE "C" NOT NULL,
	phase            TEXT COLLATE "C" NOT NULL,
	created          BIGINT  NOT NULL,
	finished         BIGINT,          -- the first that is known of its end: completed, deleted, or found gone
	exists_still     BIGINT  NOT NULL, -- 1: it is not known to be deleted
	changed          BIGINT  NOT NULL, -- counts the changes of this row and of those that belong to it
	sent             BIGINT  NOT NULL, -- the value of changed up to which its run is with the tracking server
	job              TEXT COLLATE "C" NOT NULL,
	manifest         TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (cluster, uid)
);
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
	cluster          TEXT COLLATE "C" NOT NULL,
	uid              TEXT COLLATE "C" NOT NULL,
	number           BIGINT  NOT NULL,
	queued           BIGINT,
	started          BIGINT,
	ended            BIGINT,
	end_phase        TEXT COLLATE "C" NOT NULL,
	end_reason       TEXT COLLATE "C" NOT NULL,
	resource_version TEXT COLLATE "C" NOT NULL, -- empty: no version of the job was seen in it
	replicas         BIGINT  NOT NULL,
	gpus             BIGINT  NOT NULL,
	gpu_kind         TEXT COLLATE "C" NOT NULL,
	queue            TEXT COLLATE "C" NOT NULL,
	resumed_from     TEXT COLLATE "C", -- a checkpoint as JSON
	lost_steps       BIGINT,
	lost_seconds     BIGINT,
	lost_gpu_seconds BIGINT,
	PRIMARY KEY (cluster, uid, number),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
);

CREATE TABLE counts (
	cluster                    TEXT COLLATE "C" NOT NULL,
	uid                        TEXT COLLATE "C" NOT NULL,
	attempt                    BIGINT  NOT NULL,
	preemptions                BIGINT  NOT NULL,
	lost_steps                 BIGINT  NOT NULL,
	lost_seconds               BIGINT  NOT NULL,
	lost_gpu_seconds           BIGINT  NOT NULL,
	asked                      BIGINT  NOT NULL,
	saved                      BIGINT  NOT NULL,
	preempted_lost_gpu_seconds BIGINT  NOT NULL,
	room_made                  BIGINT  NOT NULL,
	room_seconds               BIGINT  NOT NULL,
	PRIMARY KEY (cluster, uid, attempt),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
);

CREATE TABLE transitions (
	cluster TEXT COLLATE "C" NOT NULL,
	uid     TEXT COLLATE "C" NOT NULL,
	at      BIGINT  NOT NULL,
	phase   TEXT COLLATE "C" NOT NULL,
	reason  TEXT COLLATE "C" NOT NULL,
	attempt BIGINT  NOT NULL, -- 0: unknown
	nth     BIGINT  NOT NULL,
	PRIMARY KEY (cluster, uid, at, phase, reason, attempt, nth),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
);

CREATE TABLE preemptions (
	cluster          TEXT COLLATE "C" NOT NULL,
	uid              TEXT COLLATE "C" NOT NULL,
	attempt          BIGINT  NOT NULL,
	at               BIGINT  NOT NULL,
	reason           TEXT COLLATE "C" NOT NULL,
	caused_by        TEXT COLLATE "C" NOT NULL,
	message          TEXT COLLATE "C" NOT NULL,
	answer           TEXT COLLATE "C" NOT NULL, -- empty: unknown, or the scheduler chose the gang
	lost_steps       BIGINT,
	lost_seconds     BIGINT,
	lost_gpu_seconds BIGINT,
	PRIMARY KEY (cluster, uid, attempt),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
);

CREATE TABLE samples (
	cluster TEXT COLLATE "C" NOT NULL,
	uid     TEXT COLLATE "C" NOT NULL,
	attempt BIGINT  NOT NULL,
	step    BIGINT  NOT NULL,
	at      BIGINT  NOT NULL,
	percent BIGINT,
	epoch   TEXT COLLATE "C" NOT NULL,
	metrics TEXT COLLATE "C" NOT NULL, -- an object of texts as JSON; empty for none
	PRIMARY KEY (cluster, uid, attempt, step),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
);

CREATE TABLE checkpoints (
	cluster TEXT COLLATE "C" NOT NULL,
	uid     TEXT COLLATE "C" NOT NULL,
	step    BIGINT  NOT NULL,
	uri     TEXT COLLATE "C" NOT NULL,
	attempt BIGINT  NOT NULL, -- 0: unknown
	at      BIGINT,
	PRIMARY KEY (cluster, uid, step, uri),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
);

-- The run of a job at a tracking server.
CREATE TABLE runs (
	cluster       TEXT COLLATE "C" NOT NULL,
	uid           TEXT COLLATE "C" NOT NULL,
	experiment_id TEXT COLLATE "C" NOT NULL,
	run_id        TEXT COLLATE "C" NOT NULL,
	state         TEXT COLLATE "C" NOT NULL, -- JSON of the exporter; empty for none
	updated       BIGINT  NOT NULL,
	PRIMARY KEY (cluster, uid),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
);

-- What was used by each namespace and kind of GPU, in grains: 1 by day, 2 by month; 3 and 4 the same by queue, too;
-- 5 and 6 the same by user, too, but not by queue; 7 by day and everything. It has all but what still goes on, and
-- stays when jobs are pruned, but for grain 7.
CREATE TABLE usage (
	cluster                    TEXT COLLATE "C" NOT NULL,
	grain                      BIGINT  NOT NULL,
	start                      BIGINT  NOT NULL, -- of the day or the month
	namespace                  TEXT COLLATE "C" NOT NULL,
	queue                      TEXT COLLATE "C" NOT NULL,
	gpu_kind                   TEXT COLLATE "C" NOT NULL,
	user_name                  TEXT COLLATE "C" NOT NULL,
	uid                        TEXT COLLATE "C" NOT NULL,
	queued_seconds             BIGINT  NOT NULL,
	running_seconds            BIGINT  NOT NULL,
	gpu_seconds                BIGINT  NOT NULL,
	lost_seconds               BIGINT  NOT NULL,
	lost_gpu_seconds           BIGINT  NOT NULL,
	jobs                       BIGINT  NOT NULL,
	attempts                   BIGINT  NOT NULL,
	preemptions                BIGINT  NOT NULL,
	assumed                    BIGINT  NOT NULL,
	unknown_ends               BIGINT  NOT NULL,
	asked                      BIGINT  NOT NULL,
	saved                      BIGINT  NOT NULL,
	preempted_lost_gpu_seconds BIGINT  NOT NULL,
	room_made                  BIGINT  NOT NULL,
	room_seconds               BIGINT  NOT NULL,
	PRIMARY KEY (cluster, grain, start, namespace, queue, gpu_kind, user_name, uid)
);
CREATE INDEX usage_job ON usage (cluster, uid) WHERE grain = 7;

-- What still goes on: it is counted up to the time of the question.
CREATE TABLE open_spans (
	cluster   TEXT COLLATE "C" NOT NULL,
	uid       TEXT COLLATE "C" NOT NULL,
	attempt   BIGINT  NOT NULL,
	running   BIGINT  NOT NULL,
	since     BIGINT  NOT NULL,
	namespace TEXT COLLATE "C" NOT NULL,
	queue     TEXT COLLATE "C" NOT NULL,
	gpu_kind  TEXT COLLATE "C" NOT NULL,
	user_name TEXT COLLATE "C" NOT NULL,
	gpus      BIGINT  NOT NULL,
	PRIMARY KEY (cluster, uid, attempt, running, since),
	FOREIGN KEY (cluster, uid) REFERENCES jobs (cluster, uid) ON DELETE CASCADE
);

-- Jobs that were pruned, so that one which the cluster still has is not counted again.
CREATE TABLE pruned (
	cluster TEXT COLLATE "C" NOT NULL,
	uid     TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (cluster, uid)
);

-- One row, written to find out whether the database can be written.
CREATE TABLE probe (
	id      BIGINT  NOT NULL PRIMARY KEY,
	counter BIGINT  NOT NULL
);

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
