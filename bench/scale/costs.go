package scale

import "mlplatform.example.com/trainingjob-operator/bench/stats"

// cost is one row of the report: what a step cost, and false where the step does not say.
type cost struct {
	title string
	of    func(Step) (float64, bool)
	// grows is true if the report states how the cost grows with the number of jobs.
	grows bool
}

// Programs whose costs are reported.
const (
	operatorProgram  = "operator"
	apiServerProgram = "kube-apiserver"
)

// costs returns the costs in the order of the report.
func costs() []cost {
	return []cost{
		{"filling: s until all gangs run", seconds(Fill), true},
		{"filling: operator's CPU per gang, ms", cpuPerJob(Fill, operatorProgram), true},
		{"filling: API server's CPU per gang, ms", notSimulated(cpuPerJob(Fill, apiServerProgram)), true},
		{"filling: operator's writes per gang", writesPerJob(Fill, operatorProgram), true},
		{"queueing: s until all jobs are queued", seconds(Queue), true},
		{"queueing: operator's CPU per job, ms", cpuPerJob(Queue, operatorProgram), true},
		{"queueing: API server's CPU per job, ms", notSimulated(cpuPerJob(Queue, apiServerProgram)), true},
		{"queueing: operator's writes per job", writesPerJob(Queue, operatorProgram), true},
		{"idle: operator's CPU, % of a processor", idleShare(operatorProgram), false},
		{"idle: operator's writes in a minute", idleWrites(operatorProgram), false},
		{"idle: all programs' CPU, % of a processor", notSimulated(idleShare("")), false},
		{"idle: all clients' writes in a minute", idleWrites(""), false},
		{"operator's memory when idle, MB", memoryIn(operatorProgram, Idle), true},
		{"operator's memory at most, MB", memory(operatorProgram), true},
		{"API server's memory at most, MB", memory(apiServerProgram), true},
		{"restart: s until ready", ready(Restart), true},
		{"restart: s until a new job is queued", seconds(Restart), true},
		{"restart: operator's writes", restartWrites, false},
		{"failover: s until a new job is queued", ready(Failover), false},
		{"restart and failover: ranks lost", disturbed(func(p Phase) int { return p.Lost }), false},
		{"restart and failover: ranks created", disturbed(func(p Phase) int { return p.Again }), false},
		{"preempting: s until the gang has its nodes, p50", entry(0.5), true},
		{"preempting: s until the gang has its nodes, worst", entry(1), false},
		{"preempting: gangs that got to it", from(Preempt, func(p Phase) (float64, bool) {
			return float64(len(p.Entries)), true
		}), false},
		{"preempting: ms until a victim's last rank is gone, p50", answer(0.5), true},
		{"preempting: ms until a victim's last rank is gone, worst", answer(1), true},
		{"preempting: operator's writes per gang", writesPerJob(Preempt, operatorProgram), false},
	}
}

// from reads a cost from a phase.
func from(name string, read func(Phase) (float64, bool)) func(Step) (float64, bool) {
	return func(s Step) (float64, bool) {
		p, ok := s.Phase(name)
		if !ok {
			return 0, false
		}
		return read(p)
	}
}

// notSimulated is a cost that a simulated cluster does not say.
func notSimulated(of func(Step) (float64, bool)) func(Step) (float64, bool) {
	return func(s Step) (float64, bool) {
		if s.Scheduler == Simulated {
			return 0, false
		}
		return of(s)
	}
}

func seconds(name string) func(Step) (float64, bool) {
	return from(name, func(p Phase) (float64, bool) { return p.Seconds, true })
}

func ready(name string) func(Step) (float64, bool) {
	return from(name, func(p Phase) (float64, bool) { return p.ReadySeconds, true })
}

func cpuPerJob(name, program string) func(Step) (float64, bool) {
	return from(name, func(p Phase) (float64, bool) {
		return 1000 * p.CPU[program] / float64(p.Jobs), p.Jobs > 0
	})
}

func writesPerJob(name, client string) func(Step) (float64, bool) {
	return from(name, func(p Phase) (float64, bool) {
		return float64(p.Writes[client]) / float64(p.Jobs), p.Jobs > 0
	})
}

// idleWrites of a client in a minute, or of all.
func idleWrites(client string) func(Step) (float64, bool) {
	return from(Idle, func(p Phase) (float64, bool) {
		return 60 * sum(p.Writes, client) / p.Seconds, p.Seconds > 0
	})
}

func restartWrites(s Step) (float64, bool) {
	p, ok := s.Phase(Restart)
	return sum(p.Writes, operatorProgram), ok
}

// sum of what is counted by program, for one or for all.
func sum[N int | float64](by map[string]N, program string) float64 {
	var total float64
	for of, n := range by {
		if program == "" || of == program {
			total += float64(n)
		}
	}
	return total
}

// idleShare of a processor in percent that a program has used, or all.
func idleShare(program string) func(Step) (float64, bool) {
	return from(Idle, func(p Phase) (float64, bool) {
		return 100 * sum(p.CPU, program) / p.Seconds, p.Seconds > 0
	})
}

// memoryIn a phase, in megabytes at most.
func memoryIn(program, phase string) func(Step) (float64, bool) {
	return from(phase, func(p Phase) (float64, bool) {
		return float64(p.PeakMemory[program]) / 1e6, p.PeakMemory[program] > 0
	})
}

// memory in megabytes at most, in all phases but the one with two operators.
func memory(program string) func(Step) (float64, bool) {
	return func(s Step) (float64, bool) {
		var most int64
		for _, p := range s.Phases {
			if p.Name != Failover {
				most = max(most, p.PeakMemory[program])
			}
		}
		return float64(most) / 1e6, most > 0
	}
}

// entry is a quantile of the seconds until gangs of high priority had their nodes.
func entry(q float64) func(Step) (float64, bool) {
	return from(Preempt, func(p Phase) (float64, bool) { return quantile(q, p.Entries) })
}

// answer is a quantile of the answers to preemptions, in milliseconds.
func answer(q float64) func(Step) (float64, bool) {
	return from(Preempt, func(p Phase) (float64, bool) {
		seconds, known := quantile(q, p.Answers)
		return 1000 * seconds, known
	})
}

func quantile(q float64, values []float64) (float64, bool) {
	var all []stats.Bounds
	for _, v := range values {
		all = append(all, stats.Exactly(v))
	}
	return stats.Quantile(q, all).Low, len(all) > 0
}

// disturbed counts ranks in the phases in which nothing should have happened to any.
func disturbed(count func(Phase) int) func(Step) (float64, bool) {
	return func(s Step) (float64, bool) {
		restart, restarted := s.Phase(Restart)
		failover, failed := s.Phase(Failover)
		return float64(count(restart) + count(failover)), restarted && failed
	}
}
