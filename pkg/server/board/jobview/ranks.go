package jobview

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// How ranks are shown.
const (
	// largeRanks is up to how many ranks each says its node and phase; more are small cells.
	largeRanks = 16
	// blockRanks is how many are sent anew when one of them changes.
	blockRanks = 100
	// maxTroubled bounds the list of ranks to look at.
	maxTroubled = 16
)

// Phases of ranks that are not a pod's.
const (
	missing = "Missing" // there is no pod
	hidden  = "Hidden"  // the status does not list it, and nobody has looked
)

// Ranks of the current attempt.
type Ranks struct {
	Total  int
	Counts []RankCount
	// Troubled ranks do not run, or have been restarted: the first of them.
	Troubled []Rank
	More     int // troubled ranks that are not listed
	Blocks   []Block
	Notes    []string
}

// RankCount is how many ranks are in a phase.
type RankCount struct {
	Phase, Class, Says string
	Count              int
}

// Block of ranks of one role, a fragment of its own.
type Block struct {
	ID          string
	Role        v1alpha1.Role
	First, Last int32
	Large       bool
	Ranks       []Rank
}

// Rank of a gang.
type Rank struct {
	Role     v1alpha1.Role
	Index    int32
	Phase    string
	Class    string
	Says     string // the phase in words
	Node     string // empty: none, or unknown
	Restarts int32
	Started  *time.Time
	Href     string
	Title    string
}

// classes of phases, and what they are called.
var rankPhases = []RankCount{
	{Phase: "Failed", Class: "rank-failed", Says: "failed"},
	{Phase: missing, Class: "rank-missing", Says: "no pod"},
	{Phase: "Unknown", Class: "rank-unknown", Says: "unknown"},
	{Phase: "Terminating", Class: "rank-ending", Says: "ending"},
	{Phase: "Pending", Class: "rank-pending", Says: "pending"},
	{Phase: "Running", Class: "rank-running", Says: "running"},
	{Phase: "Succeeded", Class: "rank-succeeded", Says: "succeeded"},
	{Phase: hidden, Class: "rank-hidden", Says: "not listed"},
}

// phaseOf a rank; a phase that is not known is said as it is.
func phaseOf(phase string) RankCount {
	for _, p := range rankPhases {
		if p.Phase == phase {
			return p
		}
	}
	return RankCount{Phase: phase, Class: "rank-unknown", Says: phase}
}

// healthy reports whether a rank needs no attention while its job is in a phase.
func (r *Rank) healthy() bool {
	return r.Restarts == 0 && (r.Phase == "Running" || r.Phase == "Succeeded" || r.Phase == hidden)
}

func ranksOf(in *Input) Ranks {
	var out Ranks
	if in.Live == nil {
		return out
	}
	all := allRanks(in)
	out.Total = len(all)
	counts := map[string]int{}
	for i := range all {
		counts[all[i].Phase]++
	}
	for phase := range counts {
		p := phaseOf(phase)
		p.Count = counts[phase]
		out.Counts = append(out.Counts, p)
	}
	slices.SortFunc(out.Counts, func(a, b RankCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Phase, b.Phase))
	})
	if n := counts[hidden]; n > 0 {
		out.Notes = append(out.Notes, "The job's status lists at most 100 ranks, unhealthy ones first: the phase "+
			"of "+count(n, "rank")+" is not among them.")
	}
	out.Troubled, out.More = troubled(all, in.Live.Status.Phase)
	out.Blocks = blocksOf(all)
	return out
}

// troubled ranks while a job starts or runs, the worst first. Before that, none has a pod yet.
func troubled(all []Rank, phase v1alpha1.Phase) ([]Rank, int) {
	if phase != v1alpha1.PhaseStarting && phase != v1alpha1.PhaseRunning {
		return nil, 0
	}
	list := slices.DeleteFunc(slices.Clone(all), func(r Rank) bool { return r.healthy() })
	worse := func(r Rank) int {
		return slices.IndexFunc(rankPhases, func(p RankCount) bool { return p.Class == r.Class })
	}
	slices.SortStableFunc(list, func(a, b Rank) int {
		return cmp.Or(cmp.Compare(worse(a), worse(b)), cmp.Compare(b.Restarts, a.Restarts))
	})
	if n := len(list) - maxTroubled; n > 0 {
		return list[:maxTroubled], n
	}
	return list, 0
}

// allRanks of the current attempt, in their order. What is not listed of a role whose ranks are all ready
// runs.
func allRanks(in *Input) []Rank {
	st := &in.Live.Status
	type key struct {
		role  v1alpha1.Role
		index int32
	}
	listed := map[key]*v1alpha1.WorkerStatus{}
	workers := in.Ranks
	if workers == nil {
		workers = st.Workers
	}
	for i := range workers {
		listed[key{workers[i].Role, workers[i].Index}] = &workers[i]
	}
	var all []Rank
	for _, role := range spec.Roles(in.Live) {
		counted, known := st.ReplicaStatuses[role.Name]
		n := role.Replicas
		if known {
			n = counted.Replicas
		}
		for index := range n {
			r := Rank{Role: role.Name, Index: index, Phase: hidden}
			switch w := listed[key{role.Name, index}]; {
			case w != nil:
				r.Phase, r.Node, r.Restarts = w.Phase, w.Node, w.RestartCount
				if w.StartTime != nil {
					r.Started = new(w.StartTime.UTC())
				}
			case len(workers) == 0:
				r.Phase = missing
			case known && counted.Ready == n:
				r.Phase = "Running"
			}
			r.complete(in.Links.Logs)
			all = append(all, r)
		}
	}
	return all
}

// complete fills in what follows from the rest.
func (r *Rank) complete(logs string) {
	p := phaseOf(r.Phase)
	r.Class, r.Says = p.Class, p.Says
	if logs != "" {
		r.Href = logs + "?" + url.Values{
			"role": {string(r.Role)}, "index": {strconv.Itoa(int(r.Index))},
		}.Encode()
	}
	r.Title = string(r.Role) + " " + strconv.Itoa(int(r.Index)) + ": " + r.Says
	if r.Node != "" {
		r.Title += " on " + r.Node
	}
	if r.Restarts > 0 {
		r.Title += ", " + count(r.Restarts, "restart")
	}
}

// Trouble reports whether the cell must stand out.
func (r *Rank) Trouble() bool { return !r.healthy() }

// Known reports whether there may be a log to read.
func (r *Rank) Known() bool { return r.Phase != missing }

func blocksOf(all []Rank) []Block {
	large := len(all) <= largeRanks
	var blocks []Block
	for _, r := range all {
		n := len(blocks)
		if n == 0 || blocks[n-1].Role != r.Role || len(blocks[n-1].Ranks) == blockRanks {
			blocks = append(blocks, Block{
				ID:   "job-ranks-" + spec.RoleKey(r.Role) + "-" + strconv.Itoa(int(r.Index)),
				Role: r.Role, First: r.Index, Large: large,
			})
			n++
		}
		b := &blocks[n-1]
		b.Ranks, b.Last = append(b.Ranks, r), r.Index
	}
	return blocks
}
