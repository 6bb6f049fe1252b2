package fakescheduler

import "slices"

// Mutant is a defect. Suites must catch a scheduler that has it.
type Mutant string

const (
	// BindsPart binds what fits of a gang instead of all or nothing.
	BindsPart Mutant = "BindsPart"
	// NeverReleases counts pods that have ended or are gone as still holding their GPUs.
	NeverReleases Mutant = "NeverReleases"
	// LosesPriority serves gangs in the order of their creation alone, and preempts nobody.
	LosesPriority Mutant = "LosesPriority"
	// DropsGroup deletes a group that has waited for one step.
	DropsGroup Mutant = "DropsGroup"
	// EvictsEqual preempts gangs of the same priority: two of them push each other out for ever.
	EvictsEqual Mutant = "EvictsEqual"
	// IgnoresRoles counts any ranks towards the minimum, so that a gang can start without its leader.
	IgnoresRoles Mutant = "IgnoresRoles"
)

// Mutants lists all of them.
func Mutants() []Mutant {
	return []Mutant{BindsPart, NeverReleases, LosesPriority, DropsGroup, EvictsEqual, IgnoresRoles}
}

// Option is a habit that a correct scheduler may have. Suites must pass with it.
type Option string

const (
	// EvictsPart preempts as many ranks as it needs and leaves the rest of the gang behind, as Volcano does
	// (volcano#4607). Without it gangs are preempted whole.
	EvictsPart Option = "EvictsPart"
	// InvitesAll asks for the pods of every group at once, as Volcano does without its enqueue action: queued jobs are
	// pending pods.
	InvitesAll Option = "InvitesAll"
)

// Options lists all of them.
func Options() []Option { return []Option{EvictsPart, InvitesAll} }

// Habits are the mutants and options of one scheduler.
type Habits struct {
	Mutants []Mutant
	Options []Option
}

func (h Habits) is(m Mutant) bool  { return slices.Contains(h.Mutants, m) }
func (h Habits) has(o Option) bool { return slices.Contains(h.Options, o) }
