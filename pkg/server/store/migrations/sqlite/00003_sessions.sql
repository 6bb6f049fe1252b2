-- +goose Up

-- Browsers that have logged in. Times are seconds since 1970, UTC.
CREATE TABLE sessions (
	id       TEXT    NOT NULL PRIMARY KEY, -- SHA-256 of what the browser has
	owner    TEXT    NOT NULL,
	identity TEXT    NOT NULL,             -- JSON of package session
	made     INTEGER NOT NULL,
	used     INTEGER NOT NULL,             -- at the latest; it is written from time to time
	expires  INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_owner ON sessions (owner, used);
CREATE INDEX sessions_expires ON sessions (expires);

-- +goose Down
DROP TABLE sessions;
