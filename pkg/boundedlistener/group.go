package boundedlistener

import "container/list"

// group of connections, by owner. The listener's lock guards it.
type group struct {
	total int
	// added counts the connections that were ever added, and numbers them.
	added uint64
	// owners have their connections here, the oldest first.
	owners map[string]*list.List
}

func newGroup() *group { return &group{owners: map[string]*list.List{}} }

func (g *group) of(owner string) int {
	if all := g.owners[owner]; all != nil {
		return all.Len()
	}
	return 0
}

func (g *group) add(c *Conn) {
	all := g.owners[c.owner]
	if all == nil {
		all = list.New()
		g.owners[c.owner] = all
	}
	g.added++
	c.group, c.position, c.number = g, all.PushBack(c), g.added
	g.total++
}

func (g *group) remove(c *Conn) {
	all := g.owners[c.owner]
	all.Remove(c.position)
	if all.Len() == 0 {
		delete(g.owners, c.owner)
	}
	c.group, c.position = nil, nil
	g.total--
}

// removeOldest removes the oldest connection of an owner that has one.
func (g *group) removeOldest(owner string) *Conn {
	c := oldest(g.owners[owner])
	g.remove(c)
	return c
}

// heaviest returns the owner with the most connections; of several, the one with the oldest connection. There
// are at most as many owners as strangers: hundreds.
func (g *group) heaviest() (owner string) {
	most, number := 0, uint64(0)
	for o, all := range g.owners {
		n, first := all.Len(), oldest(all).number
		if n > most || n == most && first < number {
			owner, most, number = o, n, first
		}
	}
	return owner
}

func oldest(all *list.List) *Conn { return all.Front().Value.(*Conn) }
