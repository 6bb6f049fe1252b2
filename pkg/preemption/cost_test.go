package preemption

import (
	"testing"
	"time"
)

func TestCost(t *testing.T) {
	const s = time.Second
	base := Running{
		GPUs: 8, Began: now.Add(-1000 * s), Saved: now.Add(-600 * s), Heard: now.Add(-29 * s), Save: 20 * s,
		Start: 50 * s, Grace: 30 * s,
	}
	deadline := now.Add(120 * s)
	for name, test := range map[string]struct {
		change func(*Running)
		mode   Mode
		cost   int64
	}{
		"saves first":                {func(*Running) {}, Save, 8 * (20 + 50)},
		"has just saved":             {func(g *Running) { g.Saved = now.Add(-5 * s) }, Save, 8 * (5 + 50)},
		"its claim is bounded":       {func(g *Running) { g.Save = time.Hour }, Save, 8 * (30 + 50)},
		"never saved":                {func(g *Running) { g.Save = 0 }, Save, 8 * (30 + 50)},
		"is not heard of":            {func(g *Running) { g.Heard = now.Add(-30 * s) }, Kill, 8 * (600 + 50)},
		"did not save when asked":    {func(g *Running) { g.AskFailed = true }, Kill, 8 * (600 + 50)},
		"nothing saved yet":          {func(g *Running) { g.AskFailed, g.Saved = true, time.Time{} }, Kill, 8 * (1000 + 50)},
		"resumed since":              {func(g *Running) { g.AskFailed, g.Saved = true, now.Add(-2000*s) }, Kill, 8 * (1000 + 50)},
		"loses no more than the cap": {func(g *Running) { g.AskFailed, g.Saved, g.Began = true, time.Time{}, now.Add(-9999*s) }, Kill, 8 * (3600 + 50)},
		"never trained":              {func(g *Running) { g.Start = 0 }, Save, 8 * (20 + 120)},
		"its start is bounded":       {func(g *Running) { g.Start = 9999 * s }, Save, 8 * (20 + 3600)},
		"saves by itself":            {func(g *Running) { g.AskFailed, g.NextSave = true, deadline }, NextCheckpoint, 8 * (10 + 50)},
		"saves too late":             {func(g *Running) { g.AskFailed, g.NextSave = true, deadline.Add(s) }, Kill, 8 * (600 + 50)},
		"should have saved":          {func(g *Running) { g.AskFailed, g.NextSave = true, now }, Kill, 8 * (600 + 50)},
		"ends by itself":             {func(g *Running) { g.End = deadline }, EndsByItself, 0},
		"ends after the deadline":    {func(g *Running) { g.End = deadline.Add(s) }, Save, 8 * (20 + 50)},
		"a clock that has gone back": {func(g *Running) { g.Saved = now.Add(5 * s) }, Save, 8 * 50},
	} {
		g := base
		test.change(&g)
		if p := policy.Cost(&g, now, deadline); p.Mode != test.mode || p.GPUSeconds != test.cost {
			t.Errorf("%s: %+v, want %s for %d GPU-seconds", name, p, test.mode, test.cost)
		}
	}
}
