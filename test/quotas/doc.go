// Package quotas answers one question: do the files that we give to admins do on a real scheduler what they
// say?
//
// Each test applies the very files of examples/quotas/<scheduler>, submits jobs as the teams would, and reads
// from the API server what became of them: who runs, on what nodes, who waits and why, who was sent back, and
// that nothing is held by a gang that does not run.
package quotas
