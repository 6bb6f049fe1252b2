package report

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// fixture is small enough to be read: five stacks, of which one never runs, a burst and a queue, four rounds.
// In round 4 the raw stack drifts in the burst; the peer's runs of the burst are cut, and one
// cannot be played.
func fixture() result.Results {
	r := result.Results{
		Version: result.Version, Rounds: 4, Interrupted: true,
		Machine: result.Machine{
			Processors: 8, CPU: "Example | CPU", MemoryBytes: 32 << 30, Kernel: "6.12.0", Go: "go1.26.8",
			Commit: "0123abc",
		},
		Stacks: []result.Stack{
			fixtureStack("raw/volcano", "Groups and pods, written raw", false),
			fixtureStack("ours/volcano", "TrainingJob on Volcano", true),
			fixtureStack("peer/volcano", "A peer on Volcano", false),
			fixtureStack("absent/volcano", "A peer that never runs", false),
			fixtureStack("other", "A peer on its own scheduler", false),
		},
		Workloads: []result.Workload{
			{
				Name: "burst", Question: "What does the operator add when many gangs come at once?", Nodes: 10,
				GPUs: 80, Gangs: 4, Ranks: 8, End: workload.EndPlaced,
			},
			{
				Name: "queue", Question: "Who waits when more is asked for than there is?", Nodes: 2, GPUs: 16,
				Gangs: 4, Ranks: 8, End: workload.EndFinished,
				LeftOut: map[string]int{"fits on no cluster": 3, "has no GPU": 12},
				Changed: map[string]int{"out of order": 7}, FirstLine: map[string]int{"has no GPU": 5, "out of order": 9},
			},
		},
	}
	r.Stacks[4].Floor = "raw/other"
	for i, seconds := range []float64{20, 20.5, 19.8, 26} {
		round := i + 1
		r.Runs = append(r.Runs,
			placed("raw/volcano", round, seconds),
			repeated(placed("raw/volcano", round, seconds*1.02)),
			placed("ours/volcano", round, 1.1*seconds+0.1*float64(i)),
			cut(placed("peer/volcano", round, 180)),
			placed("other", round, 1.5*seconds),
			finished("raw/volcano", round, 100+float64(i), 0),
			finished("ours/volcano", round, 101-float64(i), 1),
		)
	}
	failed := result.Run{Stack: "peer/volcano", Workload: "queue", Round: 1, Error: "exit status 1:\nno | API"}
	r.Runs = append(r.Runs, failed)
	for i := range r.Runs {
		r.Runs[i].Began = time.Date(2026, 3, 1, 12, i, 0, 0, time.UTC)
	}
	return r
}

func fixtureStack(name, title string, ours bool) result.Stack {
	return result.Stack{
		Name: name, Title: title, Floor: "raw/volcano", Ours: ours,
		Versions: map[string]string{"volcano": "v1.14.1", "kubernetes": "v1.37.2"},
		Settings: []result.Setting{
			{Program: "scheduler", Name: "schedule-period", Value: "1s", Stock: true},
			{Program: "scheduler", Name: "kube-api-qps", Value: "2000"},
		},
	}
}

// placed plays four gangs of two ranks that are bound one after the other.
func placed(stack string, round int, seconds float64) result.Run {
	run := result.Run{
		Stack: stack, Workload: "burst", Round: round, Seconds: seconds, BusyGPUSeconds: 32 * seconds,
		Writes:     map[string]map[string]int{"scheduler": {"create pods/binding": 8}, "bench": {"create pods": 8}},
		CPU:        map[string]float64{"kube-apiserver": 2, "scheduler": 1},
		IdleWrites: map[string]map[string]int{"scheduler": {"update leases": 6}},
		PeakMemory: map[string]int64{"kube-apiserver": 512 << 20},
	}
	if stack == "ours/volcano" {
		run.Writes["bench"] = map[string]int{"create trainingjobs": 4}
		run.Writes["operator"] = map[string]int{"create pods": 8, "patch trainingjobs/status": 12 + round%2}
		run.CPU["operator"] = 0.5
	}
	for i := range 4 {
		bound := seconds * float64(i+1) / 4
		run.Gangs = append(run.Gangs, result.Gang{
			Name: string(rune('a' + i)), Ranks: 2, GPUs: 8, Priority: workload.PriorityNormal, Submitted: 0,
			Created: bound / 2, Admitted: bound / 2, Bound: bound, Running: bound, Finished: -1,
		})
		run.Curves.Seconds = append(run.Curves.Seconds, bound)
		run.Curves.Created = append(run.Curves.Created, min(4, 2*i+2))
		run.Curves.Admitted = append(run.Curves.Admitted, min(4, 2*i+1))
		run.Curves.Bound = append(run.Curves.Bound, i+1)
		run.Curves.BusyGPUs = append(run.Curves.BusyGPUs, 16*(i+1))
		run.Curves.HeldGPUs = append(run.Curves.HeldGPUs, 8)
	}
	return run
}

// cut a run at its Seconds: its last gang is never bound.
func cut(run result.Run) result.Run {
	run.CutAfter = run.Seconds
	last := &run.Gangs[len(run.Gangs)-1]
	last.Bound, last.Running = -1, -1
	return run
}

func repeated(run result.Run) result.Run {
	run.Repeat = 1
	return run
}

// finished plays four gangs that train one after the other, the second of which is interrupted. A fifth fits
// on no cluster.
func finished(stack string, round int, seconds float64, inversions int) result.Run {
	run := result.Run{
		Stack: stack, Workload: "queue", Round: round, Seconds: seconds, BusyGPUSeconds: 12 * seconds,
		LostGPUSeconds: 160, HeldIncomplete: 40, Inversions: inversions,
		Writes: map[string]map[string]int{"scheduler": {"create pods/binding": 8}},
	}
	names := []workload.Priority{workload.PriorityLow, workload.PriorityHigh, workload.PriorityLow, "high"}
	for i, priority := range names {
		end := seconds * float64(i+1) / 4
		run.Gangs = append(run.Gangs, result.Gang{
			Name: string(rune('a' + i)), Ranks: 2, GPUs: 8, Priority: priority, Submitted: float64(i),
			Created: float64(i) + 1, Admitted: end - 20, Bound: end - 19, Running: end - 18, Finished: end,
		})
	}
	run.Gangs[1].Interruptions, run.Gangs[1].Resumes, run.Gangs[1].LostSeconds = 1, []float64{7}, 10
	run.Gangs = append(run.Gangs, result.Gang{
		Name: "never", Ranks: 3, GPUs: 8, Priority: workload.PriorityHigh, Submitted: 0, Created: 1, Admitted: -1,
		Bound: -1, Running: -1, Finished: -1,
	})
	return run
}
