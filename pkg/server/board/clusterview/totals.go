package clusterview

import (
	"slices"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// totals of the cluster, and of each kind of GPU if there are several.
func (v *View) totals(p *fragment.Page) {
	p.Add("total", "map-totals", "map-total", v.total("All", "", v.Map.Totals))
	kinds := v.kinds()
	if len(kinds) < 2 && v.Query.Kind == "" {
		return
	}
	for _, k := range kinds {
		p.Add("total", "map-totals", "map-total-"+fragment.Hash(k.Kind), v.total(k.Kind, k.Kind, k.Totals))
	}
}

// kinds of GPU with their totals, in order, without nodes of unknown kind.
func (v *View) kinds() []placement.Group {
	var all []placement.Group
	for i := range v.Map.Groups {
		g := &v.Map.Groups[i]
		if n := len(all); n == 0 || all[n-1].Kind != g.Kind {
			all = append(all, placement.Group{Kind: g.Kind})
		}
		t := &all[len(all)-1].Totals
		t.Nodes += g.Totals.Nodes
		t.GPUs += g.Totals.GPUs
		t.Used += g.Totals.Used
		t.Other += g.Totals.Other
		t.Free += g.Totals.Free
		t.Unusable += g.Totals.Unusable
	}
	return slices.DeleteFunc(all, func(g placement.Group) bool { return g.Kind == "" })
}

// kindName of a group's GPUs.
func (v *View) kindName(g *placement.Group) string {
	switch {
	case g.Kind != "":
		return g.Kind
	case !v.Map.NodesKnown:
		return "Your jobs' nodes"
	case g.Totals.GPUs == 0:
		return "Without GPUs"
	}
	return "GPUs of unknown kind"
}

// total of nodes, with a bar.
type total struct {
	ID, Name, Href string
	Current        bool
	placement.Totals
	NodesKnown, HoldersKnown bool
	Bar                      []segment
}

// segment of a bar, in percent of its width.
type segment struct {
	Class    string
	At, Wide string
}

func (v *View) total(name, kind string, t placement.Totals) total {
	id := "map-total"
	if kind != "" {
		id += "-" + fragment.Hash(kind)
	}
	return total{
		ID: id, Name: name, Href: v.Query.only(kind).URL(), Current: v.Query.Kind == kind, Totals: t,
		NodesKnown: v.Map.NodesKnown, HoldersKnown: v.Map.HoldersKnown, Bar: bar(t),
	}
}

func bar(t placement.Totals) []segment {
	var all []segment
	var before int64
	for _, s := range []struct {
		class string
		n     int64
	}{{"ours", t.Used - t.Other}, {"other", t.Other}, {"free", t.Free}, {"unusable", t.Unusable}} {
		if s.n > 0 {
			all = append(all, segment{s.class, percent(before, t.GPUs), percent(s.n, t.GPUs)})
		}
		before += s.n
	}
	return all
}
