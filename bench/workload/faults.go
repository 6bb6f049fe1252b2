package workload

import (
	"math/rand/v2"
	"slices"
	"time"
)

// seeds of the builtins that draw. Another seed is another workload.
const (
	churnSeed    = 1
	failuresSeed = 2
	phillySeed   = 3
)

// random numbers of a seed: the same in every run and on every machine.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// churn is 300 gangs of 4 ranks, submitted evenly over 30 s and each deleted between 0.5 and 5 s later. About
// 28 of them are there at a time, and the cluster of 7 nodes holds 14: half are deleted while they queue.
func churn(scale float64) Workload {
	const span, least, most = 30 * time.Second, 500 * time.Millisecond, 5 * time.Second
	n, draw := scaled(300, scale, 10), random(churnSeed)
	gangs := several("gang", n, ranks(4), span/time.Duration(n))
	for i := range gangs {
		gangs[i].DeleteAfter = (least + time.Duration(draw.Int64N(int64(most-least)+1))).Round(time.Millisecond)
	}
	return Workload{Nodes: scaled(7, scale, 1), Gangs: gangs, End: EndFinished}
}

// failures is three times as many gangs of 8 as 32 nodes hold, each training 20 s and saving every 2 s, while
// for 60 s a node is lost every 4 s and comes back after 20 s. On fewer nodes proportionally fewer are.
func failures(scale float64) Workload {
	const span, every, dead = 60 * time.Second, 4 * time.Second, 20 * time.Second
	nodes := scaled(32, scale, 8)
	g := ranks(8)
	g.Train, g.Checkpoint = 20*time.Second, 2*time.Second
	w := Workload{Nodes: nodes, Gangs: several("gang", 3*nodes, g, 0), End: EndFinished}
	draw, interval := random(failuresSeed), every*32/time.Duration(nodes)
	for at := interval; at <= span; at += interval {
		node := draw.IntN(nodes)
		for slices.ContainsFunc(w.Failures, func(f NodeFailure) bool { return f.Node == node && at < f.At+f.For }) {
			node = (node + 1) % nodes
		}
		w.Failures = append(w.Failures, NodeFailure{At: at, Node: node, For: dead})
	}
	return w
}
