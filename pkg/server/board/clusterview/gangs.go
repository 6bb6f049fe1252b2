package clusterview

import (
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/palette"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// Bounds of lists next to the map.
const (
	maxGangs   = 24
	maxWaiting = 12
)

// gangs adds the legend of the largest gangs, and one line for all others.
func (v *View) gangs(p *fragment.Page) {
	shown := min(len(v.Map.Gangs), maxGangs)
	if i, asked := v.asked(); asked && i >= shown {
		p.Add("gang", "map-gangs", "map-gang-"+fragment.Hash(string(v.Map.Gangs[i].UID)), v.gang(i))
	}
	for i := range shown {
		p.Add("gang", "map-gangs", "map-gang-"+fragment.Hash(string(v.Map.Gangs[i].UID)), v.gang(i))
	}
	rest := others{Gangs: len(v.Map.Gangs) - shown, Other: v.Map.Totals.Other}
	for i := shown; i < len(v.Map.Gangs); i++ {
		rest.GPUs += v.Map.Gangs[i].GPUs
	}
	rest.None, rest.Unknown = shown == 0, !v.Map.HoldersKnown
	if rest.Gangs > 0 || rest.Other > 0 || rest.None {
		p.Add("others", "map-gangs", "map-gang-others", rest)
	}
}

// others than the largest gangs.
type others struct {
	Gangs int
	GPUs  int64
	// Other GPUs are held by hidden gangs and other pods.
	Other int64
	// None reports whether there is no gang; Unknown whether that is only unknown.
	None, Unknown bool
}

// legend of one gang.
type legend struct {
	ID         string
	Class, D   string
	Gang       placement.Gang
	Job, Show  string
	Current    bool
	NodesKnown bool
}

func (v *View) gang(i int) legend {
	g := v.Map.Gangs[i]
	look := palette.Of(string(g.UID))
	return legend{
		ID: "map-gang-" + fragment.Hash(string(g.UID)), Class: look.Class(), D: look.Cell(0, 0), Gang: g,
		Job: v.Links.Job(g.Namespace, g.Name), Show: v.Query.of(string(g.UID)).URL(),
		Current: v.Query.Gang == string(g.UID), NodesKnown: v.Map.NodesKnown,
	}
}

// waiting adds the gangs that have waited longest.
func (v *View) waiting(p *fragment.Page) {
	shown := min(len(v.Map.Waiting), maxWaiting)
	for _, w := range v.Map.Waiting[:shown] {
		id := "map-waits-" + fragment.Hash(string(w.UID))
		p.Add("waits", "map-waiting", id, struct {
			placement.Waiting
			ID, Job string
		}{w, id, v.Links.Job(w.Namespace, w.Name)})
	}
	more := struct {
		Shown, More     int
		GPUs            int64
		Unknown         bool
		Waiting, Queues string
	}{Shown: shown, More: len(v.Map.Waiting) - shown, Waiting: v.Links.Waiting, Queues: v.Links.Queues}
	for _, w := range v.Map.Waiting {
		more.GPUs += w.GPUs
		more.Unknown = more.Unknown || w.Phase == ""
	}
	p.Add("waits-all", "map-waiting", "map-waits-all", more)
}
