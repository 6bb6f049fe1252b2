package report

import (
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// tenStacks are as many as a long benchmark compares; the last but one is so slow that it is cut.
func tenStacks() []stackModel {
	return []stackModel{
		model("raw/volcano", "raw/volcano", 15, false),
		model("ours/volcano", "raw/volcano", 13.6, true),
		model("kubeflow-trainer/volcano", "raw/volcano", 6.5, false),
		model("volcano-job", "raw/volcano", 12.5, false),
		model("raw/native", "raw/native", 21, false),
		model("ours/native", "raw/native", 20, true),
		model("raw/kueue", "raw/kueue", 9, false),
		model("ours/kueue", "raw/kueue", 8.7, true),
		model("jobset/kueue", "raw/kueue", 0.9, false),
		model("ours/coscheduling", "raw/coscheduling", 7, true),
	}
}

// threeWorkloads are a burst, a queue with priorities, and nodes that fail.
func threeWorkloads() []workloadModel {
	return []workloadModel{
		{
			Workload: result.Workload{
				Name: "burst", Question: "What does the operator add to the scheduler's time when many gangs that " +
					"all fit come at once?", Nodes: 200, GPUs: 1600, Gangs: 100, Ranks: 200, End: workload.EndPlaced,
			},
			step: 0.1, cut: 60,
		},
		{
			Workload: result.Workload{
				Name: "queue", Question: "Who waits, and for how long, when twice as much is asked for as there is?",
				Nodes: 48, GPUs: 384, Gangs: 90, Ranks: 360, End: workload.EndFinished,
				LeftOut: map[string]int{"fits on no cluster": 3, "has no GPU": 12},
			},
			step: 1, cut: 1200, every: 2, train: 25, saved: 20,
		},
		{
			Workload: result.Workload{
				Name: "failures", Question: "How much training is lost when nodes fail, and how soon do gangs resume?",
				Nodes: 64, GPUs: 512, Gangs: 60, Ranks: 180, End: workload.EndFinished,
			},
			step: 1, cut: 1200, every: 1, train: 60, saved: 30, failing: []float64{45, 90, 140},
		},
	}
}

func model(name, floor string, rate float64, ours bool) stackModel {
	raw := name == floor
	m := stackModel{
		rate: rate, byPriority: floor != "raw/native", backfill: floor != "raw/kueue", resume: 12,
		Stack: result.Stack{
			Name: name, Title: "The stack " + name, Floor: floor, Ours: ours,
			Versions: map[string]string{"kubernetes": "v1.37.2", "scheduler": "v1.14.1"},
			Settings: []result.Setting{
				{Program: "scheduler", Name: "period", Value: "1s", Stock: true},
				{Program: "kube-apiserver", Name: "max-requests-inflight", Value: "3000"},
			},
		},
	}
	if floor == "raw/native" {
		m.holds = 0.2
	}
	m.writes = map[string]map[string]int{
		"scheduler": {"create pods/binding": 2, "patch pods/status": 1, "update podgroups/status": 1},
		"kwok":      {"patch pods/status": 4},
	}
	switch {
	case raw:
		m.writes["bench"] = map[string]int{"create pods": 2, "create podgroups": 1}
	case ours:
		m.resume = 5
		m.writes["operator"] = map[string]int{
			"create pods": 2, "create podgroups": 1, "patch trainingjobs/status": 3, "create events": 1,
		}
		m.writes["bench"] = map[string]int{"create trainingjobs": 1}
	default:
		m.resume = 20
		m.writes["training-operator"] = map[string]int{"create pods": 2, "update trainjobs/status": 6}
		m.writes["jobset-controller"] = map[string]int{"update jobsets/status": 5, "create jobs": 2}
		m.writes["kube-controller-manager"] = map[string]int{"update jobs/status": 7}
		m.writes["bench"] = map[string]int{"create trainjobs": 1}
	}
	return m
}
