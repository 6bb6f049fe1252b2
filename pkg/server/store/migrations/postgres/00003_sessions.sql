-- +goose Up

-- Browsers that have logged in. Times are seconds since 1970, UTC.
CREATE TABLE sessions (
	id       TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- SHA-256 of what the browser has
	owner    TEXT COLLATE "C" NOT NULL,
	identity TEXT COLLATE "C" NOT NULL,             -- JSON of package session
	made     BIGINT NOT NULL,
	used     BIGINT NOT NULL,                       -- at the latest; it is written from time to time
	expires  BIGINT NOT NULL
);
CREATE INDEX sessions_owner ON sessions (owner, used);
CREATE INDEX sessions_expires ON sessions (expires);

-- +goose Down
DROP TABLE sessions;
