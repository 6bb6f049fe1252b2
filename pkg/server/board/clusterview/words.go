package clusterview

import (
	"fmt"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// count returns a number with its noun.
func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(int64(n)) + " " + many
}

// number with thousands separators.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// reasonWords are why GPUs of a node are unusable or in doubt.
var reasonWords = map[placement.Reason]string{
	placement.NotReady:      "the node is not ready",
	placement.Cordoned:      "the node is cordoned: it accepts no new pods",
	placement.NotOffered:    "its device plugin does not offer all of its GPUs: some may not work",
	placement.Gone:          "the node is deleted, but its pods still exist",
	placement.Overcommitted: "pods hold more GPUs than the node offers: some may not work",
}

func reasons(all []placement.Reason) []string {
	words := make([]string, 0, len(all))
	for _, r := range all {
		words = append(words, reasonWords[r])
	}
	return words
}

// ranks in words, as ranges: "worker 0–7, 9; ps 0 (starting)".
func ranks(all []placement.Rank) string {
	var b strings.Builder
	for i := 0; i < len(all); {
		run := i + 1
		for run < len(all) && follows(all[run-1], all[run]) {
			run++
		}
		switch first := all[i]; {
		case i == 0:
			b.WriteString(first.Role + " ")
		case all[i-1].Role != first.Role || all[i-1].State != first.State:
			b.WriteString("; " + first.Role + " ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(int(all[i].Index)))
		if run > i+1 {
			b.WriteString("–" + strconv.Itoa(int(all[run-1].Index)))
		}
		last := run == len(all) || all[run].Role != all[i].Role || all[run].State != all[i].State
		if s := all[i].State; last && s != placement.Running && s != "" {
			b.WriteString(" (" + strings.ToLower(string(s)) + ")")
		}
		i = run
	}
	return b.String()
}

func follows(a, b placement.Rank) bool {
	return a.Role == b.Role && a.State == b.State && b.Index == a.Index+1
}

// otherHolders are hidden gangs and other pods.
const otherHolders = "others"

// describe returns the text of a node's drawing.
func (v *View) describe(n *placement.NodeUse) string {
	lines := []string{n.Name}
	if v.Map.NodesKnown {
		lines[0] += ": " + v.amounts(n)
	}
	lines = append(lines, reasons(n.Reasons)...)
	for _, h := range n.Holders {
		lines = append(lines, v.holder(h))
	}
	return strings.Join(lines, "\n")
}

// amounts of a node.
func (v *View) amounts(n *placement.NodeUse) string {
	all := count(n.GPUs, "GPU", "GPUs")
	if !v.Map.HoldersKnown {
		return all + ", use unknown"
	}
	var parts []string
	for _, p := range []struct {
		n    int64
		what string
	}{{n.Used, "used"}, {n.Free, "free"}, {n.Unusable, "unusable"}} {
		if p.n > 0 {
			parts = append(parts, number(p.n)+" "+p.what)
		}
	}
	return strings.Join(append([]string{all}, parts...), ", ")
}

// holder of GPUs of a node.
func (v *View) holder(h placement.Holder) string {
	if h.Gang < 0 {
		return otherHolders + ": " + count(h.GPUs, "GPU", "GPUs")
	}
	g := &v.Map.Gangs[h.Gang]
	text := g.Namespace + "/" + g.Name
	if len(h.Ranks) > 0 {
		text += ": " + ranks(h.Ranks)
	}
	if v.Map.NodesKnown {
		text += fmt.Sprintf(" (%s)", count(h.GPUs, "GPU", "GPUs"))
	}
	return text
}

// percent of a total, for attributes of SVG.
func percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 2, 64) + "%"
}
