package preemption

import (
	"testing"
	"time"
)

func TestCost(t *testing.T) {
	const s = time.Second
	base := Running{
		GPUs: 8, Began: now.Add(-1000 * s), Saved: now.Add(-600 * s), Reported: now.Add(-29 * s), Save: 20 * s,
		Start: 50 * s, Grace: 30 * s,
	}
	deadline := now.Add(120 * s)
	unasked := func(g *Running) { g.AskFailed = true }
	for name, test := range map[string]struct {
		change func(*Running)
		mode   Mode
		cost   int64
	}{
		"saves first":    {func(*Running) {}, Save, 8 * (20 + 50)},
		"has just saved": {func(g *Running) { g.Saved = now.Add(-5 * s) }, Save, 8 * (5 + 50)},
		"its claim":      {func(g *Running) { g.Save = time.Hour }, Save, 8 * (30 + 50)},
		"never saved":    {func(g *Running) { g.Save = 0 }, Save, 8 * (30 + 50)},
		"is silent":      {func(g *Running) { g.Reported = now.Add(-30 * s) }, Kill, 8 * (600 + 50)},
		"did not save":   {unasked, Kill, 8 * (600 + 50)},
		"nothing saved":  {func(g *Running) { unasked(g); g.Saved = time.Time{} }, Kill, 8 * (1000 + 50)},
		"resumed since": {func(g *Running) { unasked(g); g.Saved = now.Add(-2000 * s) },
			Kill, 8 * (1000 + 50)},
		"the cap of loss": {func(g *Running) { unasked(g); g.Saved, g.Began = time.Time{}, now.Add(-9999*s) },
			Kill, 8 * (3600 + 50)},
		"never trained":     {func(g *Running) { g.Start = 0 }, Save, 8 * (20 + 120)},
		"its start's bound": {func(g *Running) { g.Start = 9999 * s }, Save, 8 * (20 + 3600)},
		"saves by itself": {func(g *Running) { unasked(g); g.NextSave = deadline },
			NextCheckpoint, 8 * (10 + 50)},
		"saves too late": {func(g *Running) { unasked(g); g.NextSave = deadline.Add(s) },
			Kill, 8 * (600 + 50)},
		"should have saved":    {func(g *Running) { unasked(g); g.NextSave = now }, Kill, 8 * (600 + 50)},
		"ends by itself":       {func(g *Running) { g.End = deadline }, EndsByItself, 0},
		"ends too late":        {func(g *Running) { g.End = deadline.Add(s) }, Save, 8 * (20 + 50)},
		"should have ended":    {func(g *Running) { g.End = now }, Save, 8 * (20 + 50)},
		"a clock was set back": {func(g *Running) { g.Saved = now.Add(5 * s) }, Save, 8 * 50},
	} {
		g := base
		test.change(&g)
		if p := policy.Cost(&g, now, deadline); p.Mode != test.mode || p.GPUSeconds != test.cost {
			t.Errorf("%s: %+v, want %s for %d GPU-seconds", name, p, test.mode, test.cost)
		}
	}
}

// TestSavesAhead: an endangered gang saves at the interval that loses the least work.
func TestSavesAhead(t *testing.T) {
	const s = time.Second
	p := policy
	p.MeanRun = time.Hour
	base := Running{ // an optimum of sqrt(2 * 20 s * 3600 s), 379 s
		Began: now.Add(-1000 * s), Saved: now.Add(-400 * s), Reported: now.Add(-10 * s),
		Save: 20 * s, Grace: 30 * s,
	}
	for name, test := range map[string]struct {
		change func(*Running)
		want   bool
	}{
		"long ago":            {func(*Running) {}, true},
		"has saved":           {func(g *Running) { g.Saved = now.Add(-300 * s) }, false},
		"never saved":         {func(g *Running) { g.Saved = time.Time{} }, true},
		"has just begun":      {func(g *Running) { g.Saved, g.Began = time.Time{}, now.Add(-300*s) }, false},
		"was asked":           {func(g *Running) { g.AskedAhead = now.Add(-300 * s) }, false},
		"was asked long ago":  {func(g *Running) { g.AskedAhead = now.Add(-380 * s) }, true},
		"is interrupted more": {func(g *Running) { g.Saved, g.Optimum = now.Add(-100*s), 90*s }, true},
		"saves for longer":    {func(g *Running) { g.Saved, g.Optimum = now.Add(-20*s), 5*s }, true},
		"is still saving":     {func(g *Running) { g.Saved, g.Optimum = now.Add(-19*s), 5*s }, false},
		"is silent":           {func(g *Running) { g.Reported = now.Add(-30 * s) }, false},
		"did not save":        {func(g *Running) { g.AskFailed = true }, false},
	} {
		g := base
		test.change(&g)
		if got := p.SavesAhead(&g, now); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
