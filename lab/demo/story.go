package demo

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// The cast: the jobs of examples/demo, by name.
const (
	first  = "first"
	second = "second"
	urgent = "urgent"
)

func cast() []string { return []string{first, second, urgent} }

// Act is one step of the story.
type Act struct {
	// Title says what happens, and what to look for.
	Title string
	// Apply is the file that is applied at its beginning, "" for none.
	Apply string
	// Over is true when what the act shows has been seen, or can no longer be.
	Over func(*World) bool
	// Within is a generous bound: the machine may be busy.
	Within time.Duration
}

// Story is the acts in their order. Over looks at the world alone: whatever is late, the next act begins when it may.
func Story() []Act {
	const patience = 3 * time.Minute
	return []Act{
		{
			Title: "first wants 24 of 32 GPUs: it starts", Apply: "first.yaml", Within: patience,
			Over: func(w *World) bool { return past(w, first, v1alpha1.PhaseRunning) },
		},
		{
			Title: "second wants 24, 8 are free: it waits whole", Apply: "second.yaml", Within: patience,
			// Should first be over before second was judged, the act is over too; the verdict says that nothing was shown.
			Over: func(w *World) bool { return explained(w, second) || past(w, second, v1alpha1.PhaseRunning) },
		},
		{
			Title: "first ends: second starts, all ranks at once", Within: patience,
			Over: func(w *World) bool { return past(w, second, v1alpha1.PhaseRunning) },
		},
		{
			Title: "second trains, and saves a checkpoint", Within: patience,
			// Should it end before that, the act is over too; the verdict says that nothing was shown.
			Over: func(w *World) bool { return w.Jobs[second].Latest != nil || w.Jobs[second].Phase.Finished() },
		},
		{
			Title: "urgent has priority: it preempts second whole", Apply: "urgent.yaml", Within: patience,
			Over: func(w *World) bool {
				return past(w, urgent, v1alpha1.PhaseRunning) && (w.Jobs[second].Attempt > 1 || w.Jobs[second].Phase.Finished())
			},
		},
		{
			Title: "urgent ends: second resumes at its checkpoint", Within: patience,
			Over: func(w *World) bool {
				return w.Jobs[urgent].Phase.Finished() && past(w, second, v1alpha1.PhaseRunning)
			},
		},
		{
			Title: "all end, and every GPU is free again", Within: patience,
			Over: func(w *World) bool {
				for _, name := range cast() {
					if !w.Jobs[name].Phase.Finished() || w.Held(func(p PodState) bool { return p.Job == name }) > 0 {
						return false
					}
				}
				return true
			},
		},
	}
}

// past is true when the job is in the phase, or has ended.
func past(w *World, job string, phase v1alpha1.Phase) bool {
	now := w.Jobs[job].Phase
	return now == phase || now.Finished()
}

// explained is true when a queued job says that its scheduler found no room.
func explained(w *World, job string) bool {
	return w.Jobs[job].foundNoRoom()
}
