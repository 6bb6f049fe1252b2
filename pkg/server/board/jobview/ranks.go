package jobview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// RanksContainer is the id of the element with a cell for each rank: a changed cell is sent alone.
const RanksContainer = "ranks"

// Sizes of the ranks section.
const (
	// largeRanks is the maximum number of ranks with large cells, which have node and phase.
	largeRanks = 16
	// maxTroubled bounds the list of ranks that need attention.
	maxTroubled = 16
)

// RanksInput is the input of the ranks section.
type RanksInput struct {
	// Job in its cluster.
	Job *v1alpha1.TrainingJob
	// Followed reports whether the server follows its pods and the reader may see them: then Placed are the
	// ranks on nodes, and all others are on none. Otherwise only the job's status is known.
	Followed bool
	Placed   []placement.RankOnNode
	// Logs is the page of the job's logs; the parameters role and index are added to it.
	Logs string
	// Notes for the reader, for example why pods are not followed.
	Notes []string
}

// Ranks of the current attempt.
type Ranks struct {
	Total  int
	Counts []RankCount
	// Troubled ranks do not run, or have restarted: the first of them.
	Troubled []Rank
	More     int // troubled ranks that are not listed
	Roles    []RoleRanks
	Notes    []string
}

// RankCount is the number of ranks in a phase.
type RankCount struct {
	Phase, Class, Says string
	Count              int
}

// RoleRanks are the ranks of one role.
type RoleRanks struct {
	Role  v1alpha1.Role
	Last  int32
	Ranks []Rank
}

// ID of the role's heading.
func (r *RoleRanks) ID() string { return "ranks-" + spec.RoleKey(r.Role) }

// RanksOf returns the view of a job's ranks. It does not change the input.
func RanksOf(in RanksInput) Ranks {
	all := allRanks(&in)
	out := Ranks{Total: len(all), Notes: slices.Clone(in.Notes)}
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
		out.Notes = append(out.Notes, "The job's status lists at most 100 ranks, unhealthy ones first; it lacks "+
			"the phase of "+count(n, "rank")+".")
	}
	out.Troubled, out.More = troubled(all, in.Job.Status.Phase)
	for _, r := range all {
		n := len(out.Roles)
		if n == 0 || out.Roles[n-1].Role != r.Role {
			out.Roles = append(out.Roles, RoleRanks{Role: r.Role})
			n++
		}
		of := &out.Roles[n-1]
		of.Ranks, of.Last = append(of.Ranks, r), r.Index
	}
	return out
}

// troubled ranks while a job starts or runs, the worst first. Before that, no rank has a pod.
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

// Fragments of the ranks: their summary, in the Container, and their cells.
func (r *Ranks) Fragments() ([]fragment.Fragment, error) {
	if r.Total == 0 {
		return nil, nil
	}
	p := &fragment.Page{Templates: pages, All: make([]fragment.Fragment, 0, r.Total+len(r.Roles)+1)}
	p.Add("ranks", Container, "job-ranks", r)
	for i := range r.Roles {
		of := &r.Roles[i]
		p.Add("role", RanksContainer, of.ID(), of)
		for n := range of.Ranks {
			rank := &of.Ranks[n]
			rank.Large = r.Total <= largeRanks
			p.Add("rank", RanksContainer, rank.ID(), rank)
		}
	}
	if p.Err != nil {
		return nil, fmt.Errorf("rendering the ranks of a job: %w", p.Err)
	}
	return p.All, nil
}
