package demo

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Act is one step of the story.
type Act struct {
	// Title of the act: what happens.
	Title string
	// Apply is the file that is applied at its beginning, "" for none.
	Apply string
	// Over reports whether the act is over: its effect was seen, or can no longer be seen.
	Over func(*ClusterState) bool
	// Within is the timeout of the act, long enough for a busy machine.
	Within time.Duration
}

// Story returns the acts in order. With brokered, the operator preempts second.
func Story(brokered bool) []Act {
	const patience = 3 * time.Minute
	preemption := "urgent has priority: it preempts all of second"
	if brokered {
		preemption = "urgent has priority: second saves, then yields"
	}
	return []Act{
		{
			Title: "first wants 24 of 32 GPUs: it starts", Apply: "first.yaml", Within: patience,
			Over: func(state *ClusterState) bool { return reached(state, first, v1alpha1.PhaseRunning) },
		},
		{
			Title: "second wants 24, 8 are free: all of it waits", Apply: "second.yaml", Within: patience,
			// Also over when first ends before the scheduler rejected second; the verdict then reports "not
			// shown".
			Over: func(state *ClusterState) bool {
				return explained(state, second) || reached(state, second, v1alpha1.PhaseRunning)
			},
		},
		{
			Title: "first ends: second starts, all ranks at once", Within: patience,
			Over: func(state *ClusterState) bool { return reached(state, second, v1alpha1.PhaseRunning) },
		},
		{
			Title: "second trains, and saves a checkpoint", Within: patience,
			// Also over when it ends before that; the verdict then reports "not shown".
			Over: func(state *ClusterState) bool {
				return state.Jobs[second].Latest != nil || state.Jobs[second].Phase.Finished()
			},
		},
		{
			Title: preemption, Apply: "urgent.yaml", Within: patience,
			Over: func(state *ClusterState) bool {
				return reached(state, urgent, v1alpha1.PhaseRunning) &&
					(state.Jobs[second].Attempt > 1 || state.Jobs[second].Phase.Finished())
			},
		},
		{
			Title: "urgent ends: second resumes at its checkpoint", Within: patience,
			Over: func(state *ClusterState) bool {
				return state.Jobs[urgent].Phase.Finished() && reached(state, second, v1alpha1.PhaseRunning)
			},
		},
		{
			Title: "all end, and every GPU is free again", Within: patience,
			Over: func(state *ClusterState) bool {
				for _, name := range jobNames() {
					ofJob := func(p PodState) bool { return p.Job == name }
					if !state.Jobs[name].Phase.Finished() || state.GPUsInUse(ofJob) > 0 {
						return false
					}
				}
				return true
			},
		},
	}
}

// reached reports whether the job is in the phase, or has ended.
func reached(state *ClusterState, job string, phase v1alpha1.Phase) bool {
	now := state.Jobs[job].Phase
	return now == phase || now.Finished()
}

// explained reports whether the status of a queued job names the lack of capacity.
func explained(state *ClusterState, job string) bool {
	return state.Jobs[job].foundNoCapacity()
}

// filesOf returns the files that the acts apply.
func filesOf(acts []Act) []string {
	var files []string
	for _, act := range acts {
		if act.Apply != "" {
			files = append(files, act.Apply)
		}
	}
	return files
}
