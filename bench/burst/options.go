package main

// options are the flags of the command.
type options struct {
	gangs, ranks, nodes, pairs int
	schedulers                 []string
	operator, crds, out        string
}
