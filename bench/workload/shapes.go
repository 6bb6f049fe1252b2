package workload

import (
	"fmt"
	"time"
)

// gpusPerNode of every builtin, as in the servers of the Philly cluster that train large jobs.
const gpusPerNode = 8

// several are n gangs like g, named prefix-0000 and so on, every apart.
func several(prefix string, n int, g Gang, every time.Duration) []Gang {
	gangs := make([]Gang, n)
	for i := range gangs {
		gangs[i] = g
		gangs[i].Name = fmt.Sprintf("%s-%04d", prefix, i)
		gangs[i].At += time.Duration(i) * every
	}
	return gangs
}

// ranks is a gang of n ranks of 1 GPU and of normal priority.
func ranks(n int) Gang { return Gang{Ranks: n, GPUs: 1, Priority: PriorityNormal} }

// burst is 200 gangs of 8 ranks at once, on 200 nodes: each fills a node, and all fit.
func burst(scale float64) Workload {
	n := scaled(200, scale, 1)
	return Workload{Nodes: n, Gangs: several("gang", n, ranks(8), 0), End: EndPlaced}
}

// fixed is a backlog of gangs of one size, twice what 32 nodes hold, each training 2 s. At a smaller
// scale the nodes still hold whole gangs.
func fixed(size int) func(float64) Workload {
	return func(scale float64) Workload {
		perGang := max(1, size/gpusPerNode) // nodes
		nodes := perGang * scaled(32/perGang, scale, 1)
		g := ranks(size)
		g.Train = 2 * time.Second
		backlog := 2 * nodes * gpusPerNode / size
		return Workload{Nodes: nodes, Gangs: several("gang", backlog, g, 0), End: EndFinished}
	}
}

// deadlock is four pairs of gangs of 60% of 20 nodes each, submitted at the same instant. Where ranks are
// placed one by one, each gang takes a part of the cluster and none is complete.
func deadlock(scale float64) Workload {
	w := Workload{Nodes: scaled(20, scale, 2), GPUsPerNode: gpusPerNode, End: EndFinished}
	g := ranks((w.GPUs()*6 + 9) / 10)
	g.Train = 3 * time.Second
	for i := range scaled(4, scale, 2) {
		w.Gangs = append(w.Gangs, several(fmt.Sprintf("pair-%d", i), 2, g, 0)...)
	}
	return w
}

// storm is 16 nodes full of low gangs that train 11 s and save after so many seconds (0: never), and two
// waves of high gangs for half of the cluster that train 3 s: at 6 s and, when what was preempted trains
// again, at 13 s.
func storm(checkpointSeconds int) func(float64) Workload {
	return func(scale float64) Workload {
		half := scaled(8, scale, 2) // nodes, and gangs that fill one each
		low := ranks(gpusPerNode)
		low.Priority, low.Train = PriorityLow, 11*time.Second
		low.Checkpoint = time.Duration(checkpointSeconds) * time.Second
		w := Workload{Nodes: 2 * half, Gangs: several("low", 2*half, low, 0), End: EndFinished}
		for i, at := range []time.Duration{6 * time.Second, 13 * time.Second} {
			high := ranks(gpusPerNode)
			high.Priority, high.Train, high.At = PriorityHigh, 3*time.Second, at
			w.Gangs = append(w.Gangs, several(fmt.Sprintf("wave%d", i+1), half, high, 0)...)
		}
		return w
	}
}

// idle is 2,000 gangs of 1 rank on a cluster of 1,000 GPUs, left alone for a minute once it is full.
func idle(scale float64) Workload {
	nodes := scaled(125, scale, 1)
	gangs := several("gang", 2*nodes*gpusPerNode, ranks(1), 0)
	return Workload{Nodes: nodes, Gangs: gangs, End: EndPlaced, Idle: time.Minute}
}

// headOfLine is one gang of high priority that needs a node more than there are, and a second later 500
// gangs of 2 ranks that fill the cluster.
func headOfLine(scale float64) Workload {
	nodes := scaled(125, scale, 1)
	small := ranks(2)
	small.At = time.Second
	never := Gang{
		Name: "never", Ranks: nodes + 1, GPUs: gpusPerNode, Priority: PriorityHigh, Never: true,
	}
	gangs := append(several("small", nodes*gpusPerNode/2, small, 0), never)
	return Workload{Nodes: nodes, Gangs: gangs, End: EndPlaced}
}

// giant is one gang that fills the cluster.
func giant(size int) func(float64) Workload {
	return func(scale float64) Workload {
		nodes := scaled(size/gpusPerNode, scale, 1)
		return Workload{
			Question: fmt.Sprintf("How long does one gang that fills %d nodes take to run?", nodes),
			Nodes:    nodes, Gangs: several("giant", 1, ranks(nodes*gpusPerNode), 0), End: EndPlaced,
		}
	}
}
