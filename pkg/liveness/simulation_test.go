package liveness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Sizes of the simulation.
const (
	simulatedDays  = 10_000
	plantedHangs   = 1_000
	pausesOfADay   = 4
	mutatedPauses  = 1_500
	never          = time.Duration(1 << 60)
	lastStep       = 12_401
	lostBeats      = 0.03
	lateBeats      = 0.01
	simulationSeed = 45
)

// pause is one in the progress of a gang, which begins at time 0. Only pauses can be taken for hangs, so the
// simulation plays nothing else but looks at gangs that make progress.
type pause struct {
	kind     string
	seed     uint64
	ranks    int
	perNode  int
	helpers  int // ranks that do not train; one of them is an evaluator that makes progress
	interval time.Duration
	step     time.Duration
	limits   Limits
	past     Past
	// lasts for how long; never: it is a hang.
	lasts time.Duration
	// goesOn: the gang makes progress, but the ranks from idleFrom on have made none since -lasts.
	goesOn   bool
	idleFrom int
	// pipeline: the second half of the ranks has not finished the last step.
	pipeline bool
	phase    checkpoint.Phase
	alone    bool // only rank 0 is in the phase
	labels   bool
	first    bool          // before the first step; the gang runs since 0
	started  time.Duration // the trainer before that
	solo     bool          // only rank 0 writes something
	beat     checkpoint.Beat
	busy     bool // the last rank computes for longer
	// No beat of the ranks below cut arrives from cutAt on, and none at all in the outage before the end.
	cut      int
	cutAt    time.Duration
	outage   time.Duration
	leader   time.Duration // a new one leads from then on; 0: the same for days
	active   bool          // rank 0 moves data
	reported bool          // rank 0's reports show progress
	// culprit of the hang and what its rank shows; limit that applies.
	culprit int
	cause   string
	limit   time.Duration
}

// random returns a number between 0 and 1 that depends on the numbers alone.
func (p *pause) random(a, b int) float64 {
	x := p.seed + uint64(a)*0x9e3779b97f4a7c15 + uint64(b)*0xd1b54a32d192ed03
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

func (p *pause) isStuck(r int) bool {
	return r == p.culprit && p.lasts == never ||
		p.cause == "node" && r/p.perNode == p.culprit/p.perNode
}

// progressAt returns when a rank made its last progress, and its step then.
func (p *pause) progressAt(r int) (time.Duration, int64) {
	switch {
	case p.first:
		return -p.started, 0
	case p.cause == "behind" && r == p.culprit:
		return -p.step, lastStep - 1
	case p.pipeline && r >= p.ranks/2 && p.cause != "behind":
		return -p.step / 2, lastStep - 1
	case p.goesOn && r >= p.idleFrom && p.idleFrom > 0:
		return -p.lasts, 7
	}
	return -time.Duration(p.random(r, -1) * float64(p.step) / 8), lastStep
}

// sent returns when a rank sent its last beat that has arrived, and when that arrived.
func (p *pause) sent(r int, now time.Duration) (sent, arrived time.Duration, ok bool) {
	until := now
	if r < p.cut {
		until = min(until, p.cutAt)
	}
	if p.isStuck(r) && (p.cause == "silent" || p.cause == "node") {
		until = min(until, 0)
	}
	offset := time.Duration(p.random(r, -2) * float64(p.interval))
	for k := int((until-offset)/p.interval) + 1; k > int((until-offset)/p.interval)-12; k-- {
		sent = offset + time.Duration((float64(k)+p.random(r, k)*0.2-0.1)*float64(p.interval))
		arrived = sent
		if late := p.random(r, k+1<<20) / lateBeats; late < 1 {
			arrived += time.Duration(late * float64(20*time.Second))
		}
		lost := p.random(r, k+2<<20) < lostBeats || p.outage > 0 && arrived > p.lasts-p.outage
		if sent <= until && arrived <= now && !lost {
			return sent, arrived, arrived >= p.leader || p.leader == 0
		}
	}
	return 0, 0, false
}

func (p *pause) rank(r int, now time.Duration) Rank {
	down := p.cause == "node" && p.isStuck(r) && now > 50*time.Second
	rank := Rank{
		Pod: fmt.Sprintf("worker-%03d", r), Node: fmt.Sprintf("node-%d", r/p.perNode), NodeReady: !down,
		Trains: true,
	}
	sent, arrived, ok := p.sent(r, now)
	if !ok {
		rank.Age = now - p.leader
		return rank
	}
	b := p.beat
	rank.Beat, rank.Age = &b, now-arrived
	b.StepSeconds, b.Labels, b.CPUs, b.State = p.step.Seconds(), p.labels, 0.99, checkpoint.ProcessRuns
	last, step := p.progressAt(r)
	p.shows(r, sent, &b)
	switch {
	case p.goesOn && (p.idleFrom == 0 || r < p.idleFrom):
		b.IdleSeconds, step = p.random(r, 3)*p.step.Seconds(), step+int64(sent/p.step)
	case sent < last:
		b.IdleSeconds, step = p.random(r, 3)*p.step.Seconds(), step-1-int64((last-sent)/p.step)
	default:
		b.IdleSeconds = (sent - last).Seconds()
	}
	if p.solo && r > 0 {
		b.IdleSeconds, b.StepSeconds, b.Labels, b.Phase = 36000, 0, false, ""
	} else if !p.first {
		b.Step = &step
	}
	return rank
}

// shows adds to a beat what the agent sees of the trainer.
func (p *pause) shows(r int, sent time.Duration, b *checkpoint.Beat) {
	b.Phase = checkpoint.PhaseTraining
	if p.phase != "" && sent >= 0 && (r == 0 || !p.alone) {
		b.Phase = p.phase
	}
	b.Where = "forward"
	if p.active && r == 0 {
		b.DiskBytesPerSecond = 5 * mebibyte
	}
	b.BusySeconds = 1
	if p.busy && r == p.ranks-1 {
		b.BusySeconds = 3
	}
	if sent < 0 || p.goesOn || p.lasts != never {
		return
	}
	b.Where = "allreduce"
	b.StateSeconds = sent.Seconds()
	switch {
	case p.cause == "disks":
		b.State, b.CPUs = checkpoint.ProcessWaitsDisk, 0
	case !p.isStuck(r):
	case p.cause == "stopped":
		b.State, b.CPUs = checkpoint.ProcessStopped, 0
	case p.cause == "disk":
		b.State, b.CPUs = checkpoint.ProcessWaitsDisk, 0
	case p.cause == "where":
		b.Where = "loader"
	case p.cause == "load":
		b.State, b.CPUs = checkpoint.ProcessSleeps, 0
	}
}

func (p *pause) gang(now time.Duration) Gang {
	g := Gang{Interval: p.interval, Limits: p.limits, Past: p.past, Running: now + 10*time.Hour}
	if p.first {
		g.Running = now
	}
	g.Ranks = make([]Rank, 0, p.ranks+p.helpers)
	for r := range p.ranks {
		g.Ranks = append(g.Ranks, p.rank(r, now))
	}
	for h := range p.helpers {
		g.Ranks = append(g.Ranks, Rank{Pod: fmt.Sprintf("evaluator-%d", h), NodeReady: true, Age: time.Second,
			Beat: &checkpoint.Beat{Step: new(int64), Phase: checkpoint.PhaseTraining, IdleSeconds: 1}})
	}
	return g
}

// restart is what the operator did about a pause.
type restart struct {
	hung, at time.Duration // never: not
	leads    time.Duration
	verdict  Verdict
}

// play looks at the gang from a time to another, as the operator does.
func (p *pause) play(from, to time.Duration, on rules) restart {
	out := restart{hung: never, at: never}
	for now := from; now <= to; {
		v := judge(p.gang(now), on)
		leads := 240 * time.Hour
		if p.leader > 0 {
			if leads = now - p.leader; leads < 0 {
				leads = 240 * time.Hour
			}
		}
		next := v.Next
		switch {
		case leads < JudgedAfter*p.interval:
		case v.State != v1alpha1.LivenessHung:
			out.hung = never
		default:
			if out.hung == never {
				out.hung = now
			}
			c := Case{
				Mode: v1alpha1.LivenessAct, Verdict: v, Hung: now - out.hung, Leads: leads, LongPhase: p.limits.LongPhase,
				MaxRestarts: 3, Hangs: func() Hangs { return Hangs{Watched: 100, Running: 100, Together: 1} },
			}
			if p.reported {
				c.ReportedStep, c.ReportedAge = new(int64), time.Minute
				*c.ReportedStep = lastStep + int64(now/p.step)
			}
			choice := mayRestart(c, on)
			if choice.Restarts() {
				out.at, out.leads, out.verdict = now, leads, v
				return out
			}
			if choice.Next > 0 {
				next = min(next, choice.Next)
			}
		}
		now += next
	}
	return out
}

// check plays a pause and returns what went wrong; empty: nothing.
func (p *pause) check(on rules) string {
	if p.goesOn {
		return p.checkProgress(on)
	}
	if p.lasts != never {
		// Idle times only grow in a pause, so its end is the time of a false verdict.
		if r := p.play(max(0, p.lasts-p.outage-12*time.Minute-4*p.interval), p.lasts-1, on); r.at != never {
			return fmt.Sprintf("restarted after %v of %v, limit %v", r.at, p.lasts, r.verdict.Limit)
		}
		return ""
	}
	due := p.limit + 2*p.interval + time.Minute
	if p.solo {
		due += p.interval // one lost beat is enough
	}
	acts := due
	if p.leader > 0 {
		due, acts = max(due, p.leader+4*p.interval), max(acts, p.leader+LeaderTrustedAfter+p.interval)
	}
	if p.active {
		acts += p.limits.LongPhase
	}
	r := p.play(max(0, p.limit-3*time.Minute), acts+p.interval+2*time.Minute, on)
	switch {
	case r.at == never || r.hung > due:
		return fmt.Sprintf("found at %v, restarted at %v, due %v and %v", r.hung, r.at, due, acts)
	case r.hung < p.limit-p.started-p.step:
		return fmt.Sprintf("hung at %v before its limit %v", r.hung, p.limit)
	case r.at < r.hung+ConfirmedAfter || r.leads < LeaderTrustedAfter:
		return fmt.Sprintf("restarted at %v, hung since %v, leads %v", r.at, r.hung, r.leads)
	}
	return p.checkNames(r.verdict)
}

// checkProgress looks at a gang that makes progress.
func (p *pause) checkProgress(on rules) string {
	want := v1alpha1.LivenessProgressing
	if p.past.Step > 0 && p.step > 2*p.past.Step {
		want = v1alpha1.LivenessSlow
	}
	v := judge(p.gang(time.Hour), on)
	if v.State != want {
		return fmt.Sprintf("%s instead of %s: %+v", v.State, want, v)
	}
	if p.busy && (len(v.Suspects) != 1 || v.Suspects[0].Pod != p.rank(p.ranks-1, 0).Pod) {
		return fmt.Sprintf("the busy rank is not named: %v", v.Suspects)
	}
	return ""
}

var strongCauses = []string{"stopped", "disk", "silent", "node", "behind"}

// checkNames checks the suspects of a planted hang.
func (p *pause) checkNames(v Verdict) string {
	named := slices.ContainsFunc(v.Suspects, func(s Suspect) bool {
		return s.Pod == p.rank(p.culprit, 0).Pod ||
			p.cause == "node" && s.Node == p.rank(p.culprit, 0).Node
	})
	switch {
	case v.Strong && !named:
		return fmt.Sprintf("wrong: rank %d (%s), but named are %v", p.culprit, p.cause, v.Suspects)
	case slices.Contains(strongCauses, p.cause) && !(v.Strong && named):
		return fmt.Sprintf("unnamed: rank %d (%s): %v", p.culprit, p.cause, v.Suspects)
	case p.ranks > 2 && (p.cause == "where" || p.cause == "load") && !named:
		return fmt.Sprintf("weak: rank %d (%s): %v", p.culprit, p.cause, v.Suspects)
	case p.cause == "disks" && p.ranks > 2 && len(v.Suspects) > 0:
		return fmt.Sprintf("wrong: all ranks wait, but named are %v", v.Suspects)
	}
	return ""
}

// simulate plays pauses and planted hangs, and returns what went wrong. A strong cause may stay unnamed in 1%
// of the hangs.
func simulate(pauses, plants int, on rules, most int) (failures []string) {
	r := rand.New(rand.NewPCG(simulationSeed, 1))
	unnamed := 0
	failed := func(p *pause, text string) {
		switch {
		case text == "":
		case text[0] == 'u' && unnamed < plants/100:
			unnamed++
		default:
			failures = append(failures, fmt.Sprintf("%s of %d ranks: %s", p.kind, p.ranks, text))
		}
	}
	kinds, causes := sortedKeys(healthy), sortedKeys(hangs)
	for i := 0; (i < pauses || i < plants) && len(failures) < most; i++ {
		if i < plants {
			p := plant(r, causes[i%len(causes)])
			failed(p, p.check(on))
		}
		if i < pauses {
			p := newPause(r)
			p.kind = kinds[i%len(kinds)]
			healthy[p.kind](r, p)
			failed(p, p.check(on))
		}
	}
	return append(failures, simulateCluster(on)...)
}

func sortedKeys(m map[string]func(*rand.Rand, *pause)) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestSimulationFindsHangsOnly(t *testing.T) {
	for _, failure := range simulate(simulatedDays*pausesOfADay, plantedHangs, allRules, 20) {
		t.Error(failure)
	}
}
