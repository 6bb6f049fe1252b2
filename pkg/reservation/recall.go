package reservation

import (
	"cmp"
	"slices"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
)

// recall lent capacity for each gang that fits once it is back.
func (x *round) recall() {
	for i := range x.s.Running {
		if g := &x.s.Running[i]; g.Pass != nil && g.Pass.How == EndsBefore {
			x.again(x.overstays(g))
		}
	}
	for _, h := range x.heads {
		if h.kept == nil || !h.slot.due {
			continue
		}
		if victims := x.victims(h); len(victims) > 0 {
			x.result.Recalls = append(x.result.Recalls, Recall{h.gang.Ref, victims})
		}
	}
}

// victims are the gangs on the claim that must leave, without those beside which the gang fits, too. It
// spares first the gangs of the highest value, and of these those that began first.
func (x *round) victims(h *head) []preemption.Ref {
	var lent []*Running
	free, only := x.table.free.clone(), h.demand.only(h.kept)
	for i := range x.s.Running {
		g := &x.s.Running[i]
		shares := x.table.shares(g.Holds)
		switch {
		case g.Ending:
			free.add(shares, 1)
		case g.Value <= h.gang.Value && x.recallable(g, x.s.Now) && h.claims(shares):
			free.add(shares, 1)
			lent = append(lent, g)
		}
	}
	if _, fits := only.place(free, nil, nil); !fits {
		return nil // it fits elsewhere, or only if other gangs end
	}
	slices.SortFunc(lent, func(a, b *Running) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), a.Began.Compare(b.Began), cmp.Compare(a.UID, b.UID))
	})
	var victims []preemption.Ref
	for _, g := range lent {
		shares := x.table.shares(g.Holds)
		free.add(shares, -1)
		if _, fits := only.place(free, nil, nil); !fits {
			free.add(shares, 1)
			victims = append(victims, g.Ref)
		}
	}
	return victims
}

// claims reports whether a gang holds something of the reserved nodes or budgets.
func (h *head) claims(shares []share) bool {
	return slices.ContainsFunc(shares, func(s share) bool {
		return s.row < len(h.kept) && h.kept[s.row] || slices.Contains(h.demand.budgets, s.row)
	})
}
