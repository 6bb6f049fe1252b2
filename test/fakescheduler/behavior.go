package fakescheduler

import "slices"

// Mutant is a defect that test suites must detect.
type Mutant string

const (
	// BindsPart binds what fits of a gang instead of all or nothing.
	BindsPart Mutant = "BindsPart"
	// NeverReleases counts the GPUs of pods that have ended or are gone as in use.
	NeverReleases Mutant = "NeverReleases"
	// LosesPriority serves gangs in the order of their creation, and does not preempt.
	LosesPriority Mutant = "LosesPriority"
	// DropsGroup deletes a group that has waited for one step.
	DropsGroup Mutant = "DropsGroup"
	// EvictsEqual preempts gangs of the same priority: two of them preempt each other forever.
	EvictsEqual Mutant = "EvictsEqual"
	// IgnoresRoles counts any ranks towards the minimum, so that a gang can start without its leader.
	IgnoresRoles Mutant = "IgnoresRoles"
	// IgnoresNever preempts for gangs whose class has the preemption policy Never, too.
	IgnoresNever Mutant = "IgnoresNever"
)

// Mutants lists every mutant.
func Mutants() []Mutant {
	return []Mutant{BindsPart, NeverReleases, LosesPriority, DropsGroup, EvictsEqual, IgnoresRoles, IgnoresNever}
}

// Option is behavior that a correct scheduler may show. Test suites must pass with it.
type Option string

const (
	// EvictsPart preempts only as many ranks as it needs and leaves the rest of the gang running, as Volcano
	// does (volcano#4607). Without it gangs are preempted whole.
	EvictsPart Option = "EvictsPart"
	// InvitesAll invites every group at once, as Volcano does without its enqueue action: queued jobs have
	// pending pods.
	InvitesAll Option = "InvitesAll"
)

// Options lists every option.
func Options() []Option { return []Option{EvictsPart, InvitesAll} }

// Behavior selects the mutants and options of one scheduler.
type Behavior struct {
	Mutants []Mutant
	Options []Option
}

func (b Behavior) is(m Mutant) bool  { return slices.Contains(b.Mutants, m) }
func (b Behavior) has(o Option) bool { return slices.Contains(b.Options, o) }
