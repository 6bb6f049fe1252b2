-- +goose Up

-- What one process does at a time. Times are milliseconds since 1970.
CREATE TABLE leases (
	name   TEXT    NOT NULL PRIMARY KEY,
	holder TEXT    NOT NULL,
	until  INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE leases;
