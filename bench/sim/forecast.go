package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

// Forecasting gives each gang that waits a forecast of its start, as the operator does. It decides nothing.
type Forecasting struct {
	Name string
	// Spread of all queues; negative: it follows from what held.
	Spread float64
	Limits forecast.Limits
}

// Forecast is the first that a gang got.
type Forecast struct {
	Positions forecast.Positions
	// Waited is how long the gang waited from the forecast to its start.
	Waited time.Duration
	// Has is true if it got an interval, from Earliest to Latest; Shown if earlier forecasts of its kind held.
	Has, Shown               bool
	Earliest, Median, Latest time.Duration
	// ByGap is the forecast of a simple rival: the place in the queue, multiplied by the mean gap between two
	// starts. ByFirstEnd is that of another: when the first gang of as many GPUs ends. Negative: unknown.
	ByGap, ByFirstEnd time.Duration
}

// Held reports whether the gang started in the interval.
func (f *Forecast) Held() bool {
	return f.Has && f.Earliest <= f.Waited && f.Waited <= f.Latest
}

// forecaster of one play.
type forecaster struct {
	Forecasting
	records []forecast.Record
	// open are the forecasts of gangs that wait, and record their index; by job.
	open   map[int]*Forecast
	record map[int]int
	given  map[int]time.Duration
	done   []Forecast
}

func newForecasters(all []Forecasting) (list []*forecaster) {
	for _, f := range all {
		list = append(list, &forecaster{
			Forecasting: f, open: map[int]*Forecast{}, record: map[int]int{}, given: map[int]time.Duration{},
		})
	}
	return list
}

// starts notes that a gang starts.
func (f *forecaster) starts(job int, now time.Duration) {
	open := f.open[job]
	if open == nil {
		return
	}
	open.Waited = now - f.given[job]
	f.done = append(f.done, *open)
	delete(f.open, job)
	if i, has := f.record[job]; has {
		r := &f.records[i]
		if *r = r.AsOf(epoch.Add(now)); r.Result == forecast.Pending {
			r.Result = forecast.Judge(r.Given.Add(open.Earliest), r.Latest, epoch.Add(now))
			r.Judged = epoch.Add(now)
		}
		delete(f.record, job)
	}
}

// gapShare is how much the last gap between two starts counts for their mean.
const gapShare = 0.1

// forecast gives forecasts to the gangs that have begun to wait.
func (p *simulation) forecast() {
	if len(p.forecasters) == 0 || !slices.ContainsFunc(p.waiting, func(w *waiting) bool { return !w.forecast }) {
		return
	}
	s, jobs := p.cluster()
	var news []int
	for _, w := range p.waiting {
		if !w.forecast {
			w.forecast = true
			news = append(news, w.ID)
		}
	}
	for _, f := range p.forecasters {
		f.give(p, s, jobs, news)
	}
}

func (f *forecaster) give(p *simulation, s *forecast.Snapshot, jobs, news []int) {
	f.compact(s.Now)
	s.Hits = forecast.HitsOf(f.records, s.Now)
	spreads := forecast.SpreadsOf(f.records, s.Now)
	for i := range s.Lanes {
		s.Lanes[i].Spread = f.Spread
		if f.Spread < 0 {
			s.Lanes[i].Spread = forecast.FirstSpread
			if known, has := spreads[quotaName(i)]; has {
				s.Lanes[i].Spread = known
			}
		}
	}
	for _, start := range forecast.Forecast(s, f.Limits) {
		id := jobs[start.Gang]
		if slices.Contains(news, id) {
			f.add(p, s, &start, id)
		}
	}
}

func (f *forecaster) add(p *simulation, s *forecast.Snapshot, start *forecast.Start, id int) {
	g := &s.Gangs[start.Gang]
	first := &Forecast{
		Positions: forecast.PositionsOf(start.Position), Shown: start.Unknown == "", ByGap: -1, ByFirstEnd: -1,
	}
	if p.starts > 1 {
		first.ByGap = time.Duration(start.Position) * p.gap
	}
	for i := range s.Gangs {
		if r := &s.Gangs[i]; r.Running && r.GPUs >= g.GPUs && r.Length.Known() &&
			(first.ByFirstEnd < 0 || r.Length.Time < first.ByFirstEnd) {
			first.ByFirstEnd = r.Length.Time
		}
	}
	f.open[id], f.given[id] = first, p.now
	if start.Given == nil {
		return
	}
	first.Has, first.Median = true, start.Given.Time.Sub(s.Now)
	first.Earliest, first.Latest = start.Given.Earliest.Sub(s.Now), start.Given.Latest.Sub(s.Now)
	f.record[id] = len(f.records)
	f.records = append(f.records, forecast.Record{
		ID: fmt.Sprint(id), Kind: forecast.Kind{Positions: first.Positions}, Lane: quotaName(g.Lane),
		Spread: start.Given.Spread, Given: s.Now, Latest: start.Given.Latest,
	})
}

// compact drops the records on which no forecast depends.
func (f *forecaster) compact(now time.Time) {
	const many = 2000
	if len(f.records) < many {
		return
	}
	f.records = forecast.Recent(f.records, now)
	clear(f.record) // a gang can wait for longer than its record counts
	for i := range f.records {
		var id int
		if _, err := fmt.Sscan(f.records[i].ID, &id); err == nil && f.open[id] != nil {
			f.record[id] = i
		}
	}
}

// cluster is the state as package forecast takes it, with the IDs of the gangs.
func (p *simulation) cluster() (*forecast.Snapshot, []int) {
	s := &forecast.Snapshot{Now: epoch.Add(p.now), Lanes: make([]forecast.Lane, p.queues)}
	all := make([]int32, 0, len(p.free))
	for i, free := range p.free {
		s.Nodes = append(s.Nodes, forecast.Amounts{free})
		if !p.lost[i] {
			all = append(all, int32(i))
		}
	}
	s.Sets = [][]int32{all}
	for i, free := range p.quotas {
		s.Quotas = append(s.Quotas, forecast.Quota{
			Name: quotaName(i), Free: forecast.Amounts{free}, Limited: [forecast.MaxResources]bool{true},
		})
	}
	var jobs []int
	add := func(j *Job, g forecast.Gang) {
		g.Name, g.GPUs, g.Lane, g.Value = fmt.Sprint(j.ID), j.Total(), j.Queue, j.Value
		g.Since = epoch.Add(j.Arrives)
		if j.Queue < len(p.quotas) {
			g.Uses = []forecast.Use{{Quota: j.Queue, Amounts: forecast.Amounts{j.Total()}}}
		}
		s.Gangs, jobs = append(s.Gangs, g), append(jobs, j.ID)
	}
	for _, id := range sortedKeys(p.running) {
		r := p.running[id]
		g := forecast.Gang{Running: true, Length: p.lengthOf(r.Job, r)}
		for _, node := range sortedKeys(r.on) {
			g.Holds = append(g.Holds, forecast.Hold{
				Node: int32(node), Amounts: forecast.Amounts{int64(r.on[node]) * r.GPUs},
			})
		}
		add(r.Job, g)
	}
	for _, w := range p.waiting {
		add(w.Job, forecast.Gang{
			Length: p.lengthOf(w.Job, nil),
			Needs:  []forecast.Need{{Ranks: int64(w.Ranks), Requests: forecast.Amounts{w.GPUs}}},
		})
	}
	return s, jobs
}

// lengthOf a gang as the operator knows it; run is nil if it waits.
func (p *simulation) lengthOf(j *Job, r *run) forecast.Length {
	of := forecast.Run{
		Ran: p.ran[j.ID], Expected: j.Expected, Deadline: j.Deadline, Waits: r == nil,
		Similar: p.lengths[j.Total()],
	}
	if r != nil {
		of.Ran += p.now - r.began
		if j.Reports && p.now-r.trains() >= forecastAfter {
			left := time.Duration(float64(r.finishes()-p.now) * j.Error / math.Exp(errorSpread*errorP80))
			of.Steps = reports(epoch.Add(p.now), left)
		}
	}
	return forecast.LengthOf(of, epoch.Add(p.now))
}

// forecastAfter: a trainer has sent 5 reports.
const forecastAfter = time.Minute

// reports of a trainer whose steps of one second are left.
func reports(now time.Time, left time.Duration) *forecast.Steps {
	s := &forecast.Steps{}
	for i := range int64(6) {
		at := now.Add(time.Duration(i-5) * 10 * time.Second)
		s.Times = append(s.Times, forecast.StepTime{Step: 10 * i, At: at})
	}
	s.Total = 50 + int64(left.Seconds())
	return s
}

// ended keeps the length of a gang for those that request as much, the last first.
func (p *simulation) ended(j *Job) {
	const kept = 20
	of := append([]time.Duration{p.ran[j.ID]}, p.lengths[j.Total()]...)
	p.lengths[j.Total()] = of[:min(len(of), kept)]
}

// countGap between two starts.
func (p *simulation) countGap() {
	if p.starts++; p.starts > 1 {
		gap := float64(p.now - p.started)
		if p.starts > 2 {
			gap = gapShare*gap + (1-gapShare)*float64(p.gap)
		}
		p.gap = time.Duration(gap)
	}
	p.started = p.now
}

// Expect lets a share of gangs have a hint of their length, which is known to a fifth. The same seed draws
// the same numbers for every share.
func Expect(jobs []Job, share float64, seed uint64) []Job {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		r := rand.New(rand.NewPCG(seed, uint64(jobs[i].ID)+1_000_000))
		const spread = 0.2
		known, factor := r.Float64() < share, math.Exp(spread*r.NormFloat64())
		if known {
			whole := &run{Job: &jobs[i]}
			jobs[i].Expected = time.Duration(factor * float64(whole.finishes()))
		}
	}
	return jobs
}
