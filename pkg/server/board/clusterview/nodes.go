package clusterview

import (
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/palette"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// detail adds the selected node.
func (v *View) detail(p *fragment.Page) {
	if v.Query.Node == "" {
		return
	}
	d := detail{Name: v.Query.Node, Close: v.Query.at("").URL(), NodesKnown: v.Map.NodesKnown}
	for i := range v.Map.Groups {
		g := &v.Map.Groups[i]
		for n := range g.Nodes {
			if node := &g.Nodes[n]; node.Name == v.Query.Node {
				d.Known, d.Kind, d.Domain, d.DomainKey = true, g.Kind, g.Domain, g.DomainKey
				d.Amounts, d.Reasons = v.amounts(node), reasons(node.Reasons)
				d.Holders = v.holders(node)
			}
		}
	}
	p.Add("detail", "map-detail", "map-node", d)
}

type detail struct {
	Name, Close             string
	Known, NodesKnown       bool
	Kind, Domain, DomainKey string
	Amounts                 string
	Reasons                 []string
	Holders                 []holder
}

// holder is a row of a table.
type holder struct {
	Class, D        string // of its look; empty for hidden gangs
	Namespace, Name string
	Job             string
	Ranks           string
	GPUs            int64
}

func (v *View) holders(n *placement.NodeUse) []holder {
	var all []holder
	for _, h := range n.Holders {
		line := holder{GPUs: h.GPUs, Ranks: ranks(h.Ranks)}
		if h.Gang >= 0 {
			g := &v.Map.Gangs[h.Gang]
			look := palette.Of(string(g.UID))
			line.Class, line.D = look.Class(), look.Cell(0, 0)
			line.Namespace, line.Name, line.Job = g.Namespace, g.Name, v.Links.Job(g.Namespace, g.Name)
		}
		all = append(all, line)
	}
	return all
}

// group is the heading of nodes.
type group struct {
	ID string
	placement.Group
	Name         string
	HoldersKnown bool
}

// groups of nodes: as tiles, or as rows of a table.
func (v *View) groups(p *fragment.Page) {
	for i := range v.Map.Groups {
		g := &v.Map.Groups[i]
		if v.Query.Kind != "" && v.Query.Kind != g.Kind {
			continue
		}
		if v.Query.Table {
			v.rows(p, g)
			continue
		}
		id := "map-group-" + fragment.Hash(g.Kind, g.DomainKey, g.Domain)
		heading := group{id, *g, v.kindName(g), v.Map.HoldersKnown}
		p.Add("group", "map-nodes", id, heading)
		v.tiles(p, g.Nodes)
	}
}

func (v *View) tiles(p *fragment.Page, nodes []placement.NodeUse) {
	gang, asked := v.asked()
	var key []byte
	for i := range nodes {
		if p.Err != nil {
			return
		}
		n := &nodes[i]
		if v.Tiles == nil {
			p.Add("tile", "map-nodes", tileID(n), v.tile(n, gang, asked))
			continue
		}
		key = v.tileKey(key[:0], n)
		if f, known := v.Tiles.get(key); known {
			p.All = append(p.All, f)
			continue
		}
		p.Add("tile", "map-nodes", tileID(n), v.tile(n, gang, asked))
		if p.Err == nil {
			v.Tiles.put(key, p.All[len(p.All)-1])
		}
	}
}

// row of the table.
type row struct {
	ID, Href string
	placement.NodeUse
	Kind, Domain             string
	Holders                  []holder
	Reasons                  []string
	NodesKnown, HoldersKnown bool
}

func (v *View) rows(p *fragment.Page, g *placement.Group) {
	gang, asked := v.asked()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if asked && !n.Has(gang) {
			continue
		}
		p.Add("row", "map-rows", tileID(n), row{
			tileID(n), v.Query.at(n.Name).URL(), *n, g.Kind, g.Domain, v.holders(n),
			reasons(n.Reasons), v.Map.NodesKnown, v.Map.HoldersKnown,
		})
	}
}
