// Package history answers one question: how long does each page and report of the server take to read, when its
// history has a million attempts?
//
// It fills an empty SQLite and an empty PostgreSQL, both through pkg/server/store as a server does, with a year of
// jobs, opens them again, and asks everything that a page or a report of the REST API asks, several times. The
// times are of the store alone: neither HTTP nor authorization is in them.
package history
