-- +goose Up

-- The UID of a namespace, whose name can be used again. Empty: unknown, as in all that was recorded before.
ALTER TABLE jobs ADD COLUMN namespace_uid TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE open_spans ADD COLUMN namespace_uid TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE TABLE new_usage (
	cluster                    TEXT COLLATE "C" NOT NULL,
	grain                      BIGINT  NOT NULL,
	start                      BIGINT  NOT NULL, -- of the day or the month
	namespace                  TEXT COLLATE "C" NOT NULL,
	namespace_uid              TEXT COLLATE "C" NOT NULL,
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
	PRIMARY KEY (cluster, grain, start, namespace, namespace_uid, queue, gpu_kind, user_name, uid)
);
INSERT INTO new_usage SELECT cluster, grain, start, namespace, '', queue, gpu_kind, user_name, uid,
	queued_seconds, running_seconds, gpu_seconds, lost_seconds, lost_gpu_seconds, jobs, attempts, preemptions,
	assumed, unknown_ends, asked, saved, preempted_lost_gpu_seconds, room_made, room_seconds
	FROM usage;
DROP TABLE usage;
ALTER TABLE new_usage RENAME TO usage;
CREATE INDEX usage_job ON usage (cluster, uid) WHERE grain = 7;

-- +goose Down
ALTER TABLE jobs DROP COLUMN namespace_uid;
ALTER TABLE open_spans DROP COLUMN namespace_uid;
CREATE TABLE old_usage (
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
INSERT INTO old_usage SELECT cluster, grain, start, namespace, queue, gpu_kind, user_name, uid,
	SUM(queued_seconds), SUM(running_seconds), SUM(gpu_seconds), SUM(lost_seconds), SUM(lost_gpu_seconds),
	SUM(jobs), SUM(attempts), SUM(preemptions), SUM(assumed), SUM(unknown_ends), SUM(asked), SUM(saved),
	SUM(preempted_lost_gpu_seconds), SUM(room_made), SUM(room_seconds)
	FROM usage GROUP BY cluster, grain, start, namespace, queue, gpu_kind, user_name, uid;
DROP TABLE usage;
ALTER TABLE old_usage RENAME TO usage;
CREATE INDEX usage_job ON usage (cluster, uid) WHERE grain = 7;
