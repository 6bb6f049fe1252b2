package scheduling

import (
	"cmp"
	"container/heap"

	"k8s.io/apimachinery/pkg/types"
)

// Gang that wants places for all of its ranks at once.
type Gang struct {
	Name     types.NamespacedName
	UID      types.UID
	Priority int32
	// Ranks that must run together, each with so many GPUs.
	Ranks, GPUs int
}

// Pod of a rank.
type Pod struct {
	Name types.NamespacedName
	UID  types.UID
	Gang types.NamespacedName
	// Node that it is bound to; "": none.
	Node string
	// Ending is true for one that is being deleted or has ended.
	Ending bool
}

// Phase of a gang.
type Phase string

// Phases of a gang, as Volcano names them.
const (
	Pending Phase = "Pending"
	Inqueue Phase = "Inqueue"
	Running Phase = "Running"
)

// State is what the scheduler knows. It is for one goroutine.
type State struct {
	nodes nodes
	gangs map[types.NamespacedName]*gang
	pods  map[types.UID]*pod
	// waiting gangs in the order in which they are served.
	waiting queue
	// unplaced are invited gangs that wait for their victims to go, in the order in which they were invited.
	unplaced []*gang
	// changed are the gangs of which something is new since the last decision, in the order of the news.
	changed []*gang
	// age of the next gang.
	age int
}

type gang struct {
	Gang
	age   int
	phase Phase
	pods  map[types.UID]*pod
	// places that no pod has taken yet: indexes of nodes.
	places []int
	// victim of a gang that preempts; nil: none is under way.
	victim *gang
	// gone is true once the gang was dropped.
	gone, isChanged bool
}

type pod struct {
	Pod
	gang *gang
	// node whose GPUs it holds; -1: none.
	node int
}

// NewState returns one that knows nothing.
func NewState() *State {
	return &State{
		nodes: newNodes(), gangs: map[types.NamespacedName]*gang{}, pods: map[types.UID]*pod{},
	}
}

// SetNode tells of a node with so many GPUs.
func (s *State) SetNode(name string, gpus int) { s.nodes.set(name, gpus) }

// SetGang tells of a gang. What it wants never changes.
func (s *State) SetGang(g Gang) {
	if had := s.gangs[g.Name]; had != nil {
		if had.UID == g.UID {
			return
		}
		s.DropGang(g.Name)
	}
	added := &gang{Gang: g, age: s.age, pods: map[types.UID]*pod{}}
	s.age++
	s.gangs[g.Name] = added
	s.touch(added)
}

// DropGang tells that a gang is gone.
func (s *State) DropGang(name types.NamespacedName) {
	g := s.gangs[name]
	if g == nil {
		return
	}
	delete(s.gangs, name)
	g.gone = true
	for _, node := range g.places {
		s.nodes.give(node, g.GPUs)
	}
	g.places = nil
}

// SetPod tells of a pod, or of what is new of it.
func (s *State) SetPod(p Pod) {
	known := s.pods[p.UID]
	if known == nil {
		g := s.gangs[p.Gang]
		if g == nil {
			return // nothing is decided about it, and its gang's next pods come after the gang
		}
		known = &pod{Pod: p, gang: g, node: -1}
		s.pods[p.UID], g.pods[p.UID] = known, known
	}
	known.Ending = p.Ending
	s.touch(known.gang)
}

// DropPod tells that a pod is gone.
func (s *State) DropPod(uid types.UID) {
	p := s.pods[uid]
	if p == nil {
		return
	}
	delete(s.pods, uid)
	delete(p.gang.pods, uid)
	if p.node >= 0 {
		s.nodes.give(p.node, p.gang.GPUs)
	}
	s.touch(p.gang)
}

func (s *State) touch(g *gang) {
	if !g.isChanged {
		g.isChanged = true
		s.changed = append(s.changed, g)
	}
}

// before orders gangs as they are served.
func (g *gang) before(other *gang) int {
	return cmp.Or(cmp.Compare(other.Priority, g.Priority), cmp.Compare(g.age, other.age))
}

// queue of gangs that wait, as a heap.
type queue []*gang

var _ heap.Interface = &queue{}

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, j int) bool { return q[i].before(q[j]) < 0 }

// Swap implements heap.Interface.
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(g any) { *q = append(*q, g.(*gang)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
