package sim

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// records of bench/situations, one of each scheduler.
//
//go:embed records/*.json
var records embed.FS

// orderOf the schedulers that have been recorded.
var orderOf = map[string]Order{
	"volcano": Volcano, "native": Native, "coscheduling": Coscheduling, "kueue": Kueue,
}

// Records of what real schedulers did, by the scheduler's name.
func Records() ([]Record, error) {
	entries, err := records.ReadDir("records")
	if err != nil {
		return nil, fmt.Errorf("listing records: %w", err)
	}
	var all []Record
	for _, e := range entries {
		text, err := records.ReadFile("records/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("reading a record: %w", err)
		}
		var r Record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("reading %s: %w", e.Name(), err)
		}
		all = append(all, r)
	}
	return all, nil
}

// Agreement of an order with what its scheduler did.
type Agreement struct {
	Scheduler  string
	Situations int
	// Same are the situations in which the order takes exactly those that the scheduler took; where it draws by
	// lot, in which it may.
	Same int
	// GPUs of the victims, and Lost steps of these GPUs: what the order takes by what the scheduler took, in the
	// median situation; Total is what is lost in all situations together. Those in which the scheduler's victims
	// lost nothing have no ratio.
	GPUs, Lost, Total Ratio
	// Ended is what the scheduler's victims had lost by their trainers' last step, by what they had not saved
	// when the gang came, in all situations together: the model counts the latter.
	Ended float64
}

// Ratio over many draws of an order: the median, and in which bounds 95% of them are.
type Ratio struct{ Median, Low, High float64 }

// Tolerance of Agrees.
const Tolerance = 0.1

// Agrees reports whether the median situation's victims have as many GPUs, and lose as much.
func (a Agreement) Agrees() bool {
	return math.Abs(a.GPUs.Median-1) <= Tolerance && math.Abs(a.Lost.Median-1) <= Tolerance
}

// Agreements of all orders with the records.
func Agreements() ([]Agreement, error) {
	all, err := Records()
	if err != nil {
		return nil, err
	}
	var agreements []Agreement
	for _, r := range all {
		agreements = append(agreements, r.agreement(orderOf[r.Scheduler]))
	}
	return agreements, nil
}

func (r Record) agreement(o Order) Agreement {
	const draws = 199
	a := Agreement{Scheduler: r.Scheduler, Situations: len(r.Situations)}
	random := rand.New(rand.NewPCG(7, 7))
	var gpus, lost, total []stats.Bounds
	same := make([]bool, len(r.Situations))
	for range draws {
		var gpuRatios, lostRatios []stats.Bounds
		var allReal, allModel float64
		for i, s := range r.Situations {
			taken, chosen := s.taken(), s.Model(o, r.Nodes, r.GPUsPerNode, random)
			same[i] = same[i] || slices.Equal(chosen, taken)
			realGPUs, realLost := s.cost(taken)
			modelGPUs, modelLost := s.cost(chosen)
			gpuRatios = append(gpuRatios, stats.Exactly(modelGPUs/realGPUs))
			if realLost > 0 {
				lostRatios = append(lostRatios, stats.Exactly(modelLost/realLost))
			}
			allReal, allModel = allReal+realLost, allModel+modelLost
		}
		gpus, lost = append(gpus, stats.Median(gpuRatios)), append(lost, stats.Median(lostRatios))
		total = append(total, stats.Exactly(allModel/allReal))
	}
	var ended, unsaved float64
	for _, s := range r.Situations {
		_, lost := s.cost(s.taken())
		ended, unsaved = ended+s.lost(), unsaved+lost
	}
	a.Ended = ended / unsaved
	for _, of := range same {
		if of {
			a.Same++
		}
	}
	a.GPUs, a.Lost, a.Total = over(gpus), over(lost), over(total)
	return a
}

func over(draws []stats.Bounds) Ratio {
	const tail = 0.025
	return Ratio{
		stats.Median(draws).Low, stats.Quantile(tail, draws).Low, stats.Quantile(1-tail, draws).Low,
	}
}

// taken by the scheduler, by their index in Running.
func (s Situation) taken() (all []int) {
	for i, p := range s.Running {
		if p.Taken {
			all = append(all, i)
		}
	}
	return all
}

// lost steps of all GPUs of those that were taken.
func (s Situation) lost() (sum float64) {
	for _, p := range s.Running {
		sum += float64(p.Total()) * float64(p.Lost)
	}
	return sum
}

// cost of taking some: their GPUs, and the steps of those that were not saved when the gang came.
func (s Situation) cost(of []int) (gpus, lost float64) {
	for _, i := range of {
		n := float64(s.Running[i].Total())
		gpus, lost = gpus+n, lost+n*float64(s.Running[i].Unsaved)
	}
	return gpus, lost
}
