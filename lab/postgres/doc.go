// Package postgres answers one question: what does a real PostgreSQL make of our statements?
//
// It runs the server of Debian's package (test/e2e/install.sh installs it, without starting its service) as a
// plain process in a folder of its own, on a unix socket in that folder, so that it takes no port:
//
//	server, err := postgres.Start(ctx, postgres.Options{})
//	...
//	defer server.Stop(ctx)
//	dsn, err := server.Create(ctx, "history")
//
// Invariants:
//   - Without the package Start fails; no test is skipped for want of it.
//   - The server refuses to be root's: as root it is started as the package's user.
//   - Stop ends the connections that there still are, waits for the end and removes the folder. The server
//     dies with the process that started it.
//   - What it stores is not written through to the disk: it is gone with the test anyway.
package postgres
