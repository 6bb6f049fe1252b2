package jobview

import (
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Phases of ranks that are not phases of pods.
const (
	missing    = "Missing"     // there is no pod
	hidden     = "Hidden"      // the status does not list it, and its pod is not followed
	offNode    = "OffNode"     // on no node and not in the status
	ended      = "Ended"       // no longer on a node; its result is unknown
	ending     = "Terminating" // as in status.workers
	starting   = "Starting"    // on a node, and not running yet
	notReady   = "NotReady"    // running, not ready
	unknownPod = string(corev1.PodUnknown)
)

// rankPhases are their classes and names, the worst first.
var rankPhases = []RankCount{
	{Phase: string(corev1.PodFailed), Class: "rank-failed", Says: "failed"},
	{Phase: ended, Class: "rank-ended", Says: "ended, result unknown"},
	{Phase: missing, Class: "rank-missing", Says: "no pod"},
	{Phase: unknownPod, Class: "rank-unknown", Says: "unknown"},
	{Phase: notReady, Class: "rank-unready", Says: "running, not ready"},
	{Phase: ending, Class: "rank-ending", Says: "ending"},
	{Phase: offNode, Class: "rank-off", Says: "on no node"},
	{Phase: string(corev1.PodPending), Class: "rank-pending", Says: "pending"},
	{Phase: starting, Class: "rank-starting", Says: "starting"},
	{Phase: string(corev1.PodRunning), Class: "rank-running", Says: "running"},
	{Phase: string(corev1.PodSucceeded), Class: "rank-succeeded", Says: "succeeded"},
	{Phase: hidden, Class: "rank-hidden", Says: "not listed"},
}

// phaseOf a rank; an unknown phase keeps its name.
func phaseOf(phase string) RankCount {
	for _, p := range rankPhases {
		if p.Phase == phase {
			return p
		}
	}
	return RankCount{Phase: phase, Class: "rank-unknown", Says: phase}
}

// Rank of a gang.
type Rank struct {
	Role  v1alpha1.Role
	Index int32
	Phase string
	Class string
	Says  string // the phase in words
	Node  string // empty: none, or unknown
	// Ready is nil if unknown or if the rank does not run.
	Ready *bool
	// Restarts of its containers; Counted reports whether they are known.
	Restarts int32
	Counted  bool
	Started  *time.Time
	Href     string
	Title    string
	// Large cells have more text.
	Large bool
}

// ID of the rank's cell.
func (r *Rank) ID() string { return "rank-" + spec.RoleKey(r.Role) + "-" + strconv.Itoa(int(r.Index)) }

// healthy reports whether a rank needs no attention while its job starts or runs.
func (r *Rank) healthy() bool {
	return r.Restarts == 0 && (r.Phase == string(corev1.PodRunning) || r.Phase == string(corev1.PodSucceeded) ||
		r.Phase == hidden)
}

// Trouble reports whether the cell is highlighted.
func (r *Rank) Trouble() bool { return !r.healthy() }

// Runs reports whether its containers run, and so were started.
func (r *Rank) Runs() bool { return r.Phase == string(corev1.PodRunning) || r.Phase == notReady }

// ReadySays is its readiness in words.
func (r *Rank) ReadySays() string {
	switch {
	case !r.Runs():
		return "no"
	case r.Ready == nil:
		return unknown
	case *r.Ready:
		return "yes"
	}
	return "no"
}

// RestartsSay is the number of restarts in words.
func (r *Rank) RestartsSay() string {
	if !r.Counted {
		return unknown
	}
	return number(int64(r.Restarts))
}

// allRanks of the current attempt, in order.
func allRanks(in *RanksInput) []Rank {
	st := &in.Job.Status
	type key struct {
		role  string
		index int32
	}
	listed, placed := map[key]*v1alpha1.WorkerStatus{}, map[key]*placement.RankOnNode{}
	for i := range st.Workers {
		listed[key{spec.RoleKey(st.Workers[i].Role), st.Workers[i].Index}] = &st.Workers[i]
	}
	for i := range in.Placed {
		placed[key{in.Placed[i].Role, in.Placed[i].Index}] = &in.Placed[i]
	}
	var all []Rank
	for _, role := range spec.Roles(in.Job) {
		of := roleOf(role, st)
		for index := range of.n {
			at := key{spec.RoleKey(role.Name), index}
			r := Rank{Role: role.Name, Index: index}
			switch w, p := listed[at], placed[at]; {
			case !in.Followed:
				r.fromStatus(w, &of)
			case p != nil:
				r.onNode(p, w)
			default:
				r.offNode(w, &of)
			}
			r.complete(in.Logs)
			all = append(all, r)
		}
	}
	return all
}

// roleStatus is the status of all ranks of a role.
type roleStatus struct {
	n         int32
	none      bool // no rank of the job was created
	allReady  bool
	noneReady bool
	succeeded spec.IndexSet
	// othersRun: ranks beyond a full list of the status are as healthy as its last one, which runs, and no
	// rank has ended.
	othersRun bool
}

// maxListed ranks in a status: the least healthy ones.
const maxListed = 100

func othersRun(st *v1alpha1.TrainingJobStatus) bool {
	for _, counted := range st.ReplicaStatuses {
		if counted.Failed > 0 || counted.Succeeded > 0 {
			return false
		}
	}
	return len(st.Workers) == maxListed && st.Workers[maxListed-1].Phase == string(corev1.PodRunning)
}

func roleOf(role spec.Role, st *v1alpha1.TrainingJobStatus) roleStatus {
	counted, known := st.ReplicaStatuses[role.Name]
	of := roleStatus{n: role.Replicas, none: len(st.Workers) == 0, othersRun: othersRun(st)}
	if known {
		of.n, of.succeeded = counted.Replicas, spec.ParseIndexes(counted.SucceededIndexes)
		of.allReady, of.noneReady = counted.Ready == counted.Replicas, counted.Ready == 0
	}
	return of
}

// fromStatus sets the state of a rank from the status alone. A rank that the status does not list runs if all
// of its role are ready.
func (r *Rank) fromStatus(w *v1alpha1.WorkerStatus, of *roleStatus) {
	switch {
	case w != nil:
		r.listed(w)
	case of.succeeded.Has(r.Index):
		r.Phase = string(corev1.PodSucceeded)
	case of.none:
		r.Phase = missing
	case of.allReady, of.othersRun:
		r.Phase = string(corev1.PodRunning)
	default:
		r.Phase = hidden
	}
	if r.Phase == string(corev1.PodRunning) && (of.allReady || of.noneReady) {
		r.setReady(of.allReady)
	}
}

func (r *Rank) listed(w *v1alpha1.WorkerStatus) {
	r.Phase, r.Node, r.Restarts, r.Counted = w.Phase, w.Node, w.RestartCount, true
	if w.StartTime != nil {
		r.Started = new(w.StartTime.UTC())
	}
}

func (r *Rank) setReady(ready bool) {
	r.Ready = &ready
	if !ready {
		r.Phase = notReady
	}
}

// onNode sets the state of a rank that is on a node. Only the status has the start of its trainer.
func (r *Rank) onNode(p *placement.RankOnNode, w *v1alpha1.WorkerStatus) {
	r.Node, r.Restarts, r.Counted, r.Phase = p.Node, p.Restarts, true, unknownPod
	switch p.State {
	case placement.Running:
		r.Phase = string(corev1.PodRunning)
		r.setReady(p.Ready)
	case placement.Starting:
		r.Phase = starting
	case placement.Ending:
		r.Phase = ending
	}
	if w != nil && w.Node == p.Node && w.RestartCount == p.Restarts && w.StartTime != nil {
		r.Started = new(w.StartTime.UTC())
	}
}

// offNode sets the state of a rank that is on no node. The status can lag behind.
func (r *Rank) offNode(w *v1alpha1.WorkerStatus, of *roleStatus) {
	switch {
	case of.succeeded.Has(r.Index):
		r.Phase = string(corev1.PodSucceeded)
		if w != nil {
			r.listed(w)
		}
	case w == nil && of.none:
		r.Phase = missing
	case w == nil:
		r.Phase = offNode
	default:
		r.listed(w)
		waits := w.Phase == string(corev1.PodPending) && w.Node == ""
		if !waits && w.Phase != missing && w.Phase != string(corev1.PodSucceeded) &&
			w.Phase != string(corev1.PodFailed) {
			r.Phase = ended
		}
	}
}

// complete sets the derived fields.
func (r *Rank) complete(logs string) {
	p := phaseOf(r.Phase)
	r.Class, r.Says = p.Class, p.Says
	if logs != "" {
		r.Href = logs + "?" + url.Values{
			"role": {string(r.Role)}, "index": {strconv.Itoa(int(r.Index))},
		}.Encode()
	}
	r.Title = string(r.Role) + " " + strconv.Itoa(int(r.Index)) + ": " + r.Says
	switch {
	case r.Node == "":
	case r.Phase == ended || r.Phase == string(corev1.PodFailed) || r.Phase == string(corev1.PodSucceeded):
		r.Title += ", was on " + r.Node
	default:
		r.Title += " on " + r.Node
	}
	if r.Restarts > 0 {
		r.Title += ", " + count(r.Restarts, "restart")
	}
}
