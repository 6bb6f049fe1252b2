package scheduling

// nodes and the GPUs that are free on them.
type nodes struct {
	names []string
	free  []int
	index map[string]int
	total map[string]int
}

func newNodes() nodes { return nodes{index: map[string]int{}, total: map[string]int{}} }

func (n *nodes) set(name string, gpus int) {
	i, known := n.index[name]
	if !known {
		i = len(n.names)
		n.names, n.free = append(n.names, name), append(n.free, 0)
		n.index[name] = i
	}
	n.free[i] += gpus - n.total[name]
	n.total[name] = gpus
}

func (n *nodes) give(node, gpus int) { n.free[node] += gpus }

// place takes the GPUs of so many ranks, on the first nodes that have them, or takes nothing.
func (n *nodes) place(ranks, gpus int) ([]int, bool) {
	var places []int
	for i, free := range n.free {
		for ; len(places) < ranks && free >= gpus; free -= gpus {
			places = append(places, i)
		}
		if len(places) == ranks {
			break
		}
	}
	if len(places) < ranks {
		return nil, false
	}
	for _, i := range places {
		n.free[i] -= gpus
	}
	return places, true
}
