package liveness

import (
	"math/rand/v2"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// newPause returns the gang of a pause.
func newPause(r *rand.Rand) *pause {
	sizes := []int{2, 2, 2, 3, 4, 4, 4, 8, 8, 8, 12, 16, 16, 24, 32, 64}
	p := &pause{
		seed: r.Uint64(), ranks: sizes[r.IntN(len(sizes))], perNode: 1,
		interval: time.Duration(30+r.IntN(60)) * time.Second,
		step:     time.Duration(200+r.IntN(8000)) * time.Millisecond,
		limits: Limits{
			Hang: 15 * time.Minute, FirstStep: time.Hour, Saving: time.Hour, LongPhase: 4 * time.Hour,
			SlowPercent: 150,
		},
		culprit: -1, pipeline: r.IntN(4) == 0, labels: true,
	}
	if r.IntN(60) == 0 {
		p.ranks = 128 << r.IntN(3)
	}
	return p
}

func upTo(r *rand.Rand, minutes float64) time.Duration {
	return time.Duration((0.5 + r.Float64()/2) * minutes * float64(time.Minute))
}

// healthy are the pauses and the progress that must not be taken for hangs.
var healthy = map[string]func(*rand.Rand, *pause){
	"labelled evaluation": func(r *rand.Rand, p *pause) {
		p.lasts, p.phase, p.alone = upTo(r, 3.9*60), checkpoint.PhaseEvaluating, r.IntN(2) == 0
	},
	"evaluation behind a broken network": func(r *rand.Rand, p *pause) {
		p.ranks = max(p.ranks, 10)
		p.lasts, p.phase, p.alone = upTo(r, 3.9*60), checkpoint.PhaseEvaluating, true
		p.cut, p.cutAt = p.ranks/5+2, -time.Minute
	},
	"unlabelled evaluation": func(r *rand.Rand, p *pause) { p.lasts, p.labels = upTo(r, 59), false },
	"save": func(r *rand.Rand, p *pause) {
		p.lasts, p.phase = upTo(r, 59), checkpoint.PhaseSaving
	},
	"first step": func(r *rand.Rand, p *pause) {
		p.lasts, p.first, p.started = upTo(r, 59), true, time.Duration(r.IntN(20))*time.Minute
		p.phase = checkpoint.PhaseStarting
	},
	"restart inside of the pods": func(r *rand.Rand, p *pause) {
		p.lasts, p.phase = upTo(r, 59), checkpoint.PhaseStarting
	},
	"loader stall": func(r *rand.Rand, p *pause) { p.lasts = upTo(r, 14) },
	"loader stall of 14 minutes, its end is not seen for 3 more": func(_ *rand.Rand, p *pause) {
		p.interval = 80 * time.Second
		p.lasts, p.outage = 17*time.Minute, 210*time.Second
	},
	"loader stall and a new leader": func(r *rand.Rand, p *pause) {
		p.lasts = upTo(r, 14)
		p.leader = p.lasts - time.Duration(r.IntN(12))*time.Minute
	},
	"long step": func(r *rand.Rand, p *pause) { p.step, p.lasts = 4*time.Minute, upTo(r, 70) },
	"recompilation": func(r *rand.Rand, p *pause) {
		p.beat.FirstStepSeconds, p.lasts = 50*60, upTo(r, 70)
	},
	"longer stall than before": func(r *rand.Rand, p *pause) {
		p.beat.LongestPauseSeconds, p.lasts = 10*60, upTo(r, 29)
	},
	"stall that ends after the first verdict": func(r *rand.Rand, p *pause) {
		p.lasts = 15*time.Minute + 55*time.Second
	},
	"active evaluation without a label": func(r *rand.Rand, p *pause) {
		p.lasts, p.active, p.labels = upTo(r, 4*60), true, false
	},
	"progress in reports only": func(r *rand.Rand, p *pause) { p.lasts, p.reported = upTo(r, 3*60), true },
	"progress": func(r *rand.Rand, p *pause) {
		p.goesOn, p.past.Step = true, p.step
	},
	"progress of some ranks": func(r *rand.Rand, p *pause) {
		p.goesOn, p.idleFrom, p.lasts = true, 1+r.IntN(p.ranks), 10*time.Hour
	},
	"slow steps": func(r *rand.Rand, p *pause) {
		p.ranks, p.goesOn, p.busy, p.past.Step = max(3, p.ranks), true, true, p.step/3
	},
}

// hangs are planted.
var hangs = map[string]func(*rand.Rand, *pause){
	"stopped": nil, "disk": nil, "silent": nil, "node": nil, "behind": nil, "where": nil, "load": nil,
	"disks": nil, "everyone": nil,
	"before the first step": func(r *rand.Rand, p *pause) {
		p.cause, p.first, p.phase, p.limit = "stopped", true, checkpoint.PhaseStarting, p.limits.FirstStep
	},
	"in a save": func(r *rand.Rand, p *pause) {
		p.cause, p.phase, p.limit = "disk", checkpoint.PhaseSaving, p.limits.Saving
	},
	"without labels": func(r *rand.Rand, p *pause) { p.cause, p.labels, p.limit = "stopped", false, time.Hour },
	"by one rank's beats": func(r *rand.Rand, p *pause) {
		p.cause, p.solo = "stopped", true
	},
	"with an evaluator": func(r *rand.Rand, p *pause) { p.cause, p.helpers = "stopped", 1 },
	"after a huge pause": func(r *rand.Rand, p *pause) {
		p.cause, p.beat.LongestPauseSeconds, p.limit = "disk", 36000, p.limits.LongPhase
	},
	"beside a rank of a broken network": func(r *rand.Rand, p *pause) {
		p.ranks = max(4, p.ranks)
		p.cause, p.cut, p.cutAt, p.culprit = "stopped", 1, -10*time.Minute, p.ranks-1
	},
	"with rare beats": func(r *rand.Rand, p *pause) {
		p.interval, p.limits.Hang, p.limits.HangChosen = 10*time.Minute, 2*time.Minute, true
		p.cause, p.limit = "silent", 40*time.Minute
	},
	"of an active rank": func(r *rand.Rand, p *pause) { p.cause, p.active = "stopped", true },
	"and a new leader": func(r *rand.Rand, p *pause) {
		p.cause, p.leader = "stopped", p.limit-time.Duration(r.IntN(5))*time.Minute
	},
}

func plant(r *rand.Rand, kind string) *pause {
	p := newPause(r)
	p.lasts, p.limit, p.cause = never, p.limits.Hang, kind
	p.culprit = r.IntN(p.ranks)
	if kind == "node" && p.ranks >= 20 {
		p.perNode = 2
	}
	if kind == "disks" || kind == "everyone" {
		p.culprit = -1
	}
	if set := hangs[kind]; set != nil {
		set(r, p)
	}
	if p.culprit < p.ranks/2 && p.ranks > 1 {
		p.pipeline = p.pipeline && p.culprit < 0 && p.ranks > 3 // the stuck rank has not finished the step
	}
	p.kind = kind
	return p
}
