-- +goose Up

-- What one process does at a time. Times are milliseconds since 1970.
CREATE TABLE leases (
	name   TEXT    NOT NULL PRIMARY KEY,
	holder TEXT    NOT NULL,
	until  BIGINT NOT NULL
);

-- +goose Down
DROP TABLE leases;
