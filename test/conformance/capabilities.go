package conformance

import (
	"fmt"
	"slices"
)

// Capability is something that one scheduler can do and another cannot.
type Capability string

const (
	// HoldsPods: it keeps the operator from creating pods until there is room.
	HoldsPods Capability = "holds pods until there is room"
	// PreemptsWhole: a gang is evicted whole or not at all.
	PreemptsWhole Capability = "preempts gangs whole"
	// ServesByPriority: when room comes, of the gangs that wait for it the highest goes first.
	ServesByPriority Capability = "starts waiting gangs in order of priority, without starting and preempting a lower one first"
	// ServesTheRested: of gangs that were not tried for longer than any pause after a try in vain, room that comes all at one time
	// goes to the highest.
	ServesTheRested Capability = "gives room that comes at one time to the highest gang that has rested"
	// ServesTheUntried: of gangs that came while the scheduler was away the highest go first.
	ServesTheUntried Capability = "starts gangs that came while it was away in order of priority"
	// ServesInOrder: of waiting gangs of one priority the one that came first goes first.
	ServesInOrder Capability = "serves gangs of one priority in order of submission"
	// LetsSmallPass: a small gang that fits starts before a large one that does not, however long that one waits.
	LetsSmallPass Capability = "lets a small gang pass a large one that does not fit"
	// KeepsPlace: a gang that was preempted returns before gangs of its priority that came later.
	KeepsPlace Capability = "keeps the place of a preempted gang"
	// CountsRoles: minAvailable below the ranks still includes each role's share.
	CountsRoles Capability = "counts roles towards the minimum"
	// RefusesRoles: it cannot count roles, and a job that needs it is refused by name.
	RefusesRoles Capability = "refuses roles below the minimum"
	// AddsRanks: ranks above the minimum join a gang that runs, as there is room.
	AddsRanks Capability = "adds ranks above the minimum later"
	// LimitsQueues: jobs name a queue, and a queue has a quota of GPUs.
	LimitsQueues Capability = "limits queues"
)

// AllCapabilities lists all of them.
func AllCapabilities() []Capability {
	return []Capability{HoldsPods, PreemptsWhole, ServesByPriority, ServesTheRested, ServesTheUntried, ServesInOrder, LetsSmallPass, KeepsPlace, CountsRoles, RefusesRoles, AddsRanks, LimitsQueues}
}

// Support says whether a scheduler has an capability, and why.
type Support struct {
	Has bool
	Why string
}

// Capabilities of one scheduler: every Capability is a key.
type Capabilities map[Capability]Support

// With returns a copy in which one capability differs.
func (f Capabilities) With(a Capability, has bool, why string) Capabilities {
	out := Capabilities{}
	for k, v := range f {
		out[k] = v
	}
	out[a] = Support{has, why}
	return out
}

// Check says what is forgotten: a scheduler about which nothing is said must not pass by having nothing to do.
func (f Capabilities) Check() error {
	for _, a := range AllCapabilities() {
		if f[a].Why == "" {
			return fmt.Errorf("capability %q: it is not said whether the scheduler has it, and why", a)
		}
	}
	for a := range f {
		if !slices.Contains(AllCapabilities(), a) {
			return fmt.Errorf("capability %q is unknown", a)
		}
	}
	return nil
}

// Lacks is the first of the needs that the scheduler does not meet; "" when it meets all.
func (f Capabilities) Lacks(needs []Capability) (Capability, string) {
	for _, a := range needs {
		if !f[a].Has {
			return a, f[a].Why
		}
	}
	return "", ""
}

// OnFake are those of test/fakescheduler.
func OnFake() Capabilities {
	return Capabilities{
		HoldsPods:        {true, "a group without room stays Queued"},
		PreemptsWhole:    {true, "without its option EvictsPart"},
		ServesByPriority: {true, "groups are served by priority"},
		ServesTheRested:  {false, "it makes no pauses, and looks at no taint of a node"},
		ServesTheUntried: {true, "groups are served by priority"},
		ServesInOrder:    {true, "groups of a priority are served by age"},
		LetsSmallPass:    {true, "what fits starts"},
		KeepsPlace:       {true, "one group serves all attempts, and groups are served by age"},
		CountsRoles:      {true, "its group has a minimum per role"},
		RefusesRoles:     {false, "it counts roles"},
		AddsRanks:        {true, "it binds every rank that finds a node"},
		LimitsQueues:     {false, "its queues have no quota"},
	}
}

// OnVolcano are those of Volcano with the configuration that ships with the operator.
func OnVolcano() Capabilities {
	return Capabilities{
		HoldsPods:        {false, "without the action enqueue, which would rule out preemption, every group is Inqueue at once"},
		PreemptsWhole:    {false, "preempt picks ranks node by node (volcano#4607); the operator ends the rest"},
		ServesByPriority: {true, "a session orders jobs by priority"},
		ServesTheRested:  {true, "a session orders jobs by priority, and nobody pauses"},
		ServesTheUntried: {true, "a session orders jobs by priority"},
		ServesInOrder:    {true, "groups of a priority are served by age"},
		LetsSmallPass:    {true, "nothing is kept free for the large one: a higher priority, which preempts, or a queue that deserves enough GPUs, which takes them back, gets it its turn"},
		KeepsPlace:       {true, "one group serves all attempts, and groups of a priority are served by age"},
		CountsRoles:      {true, "minTaskMember"},
		RefusesRoles:     {false, "it counts roles"},
		AddsRanks:        {true, "a session places what is left of a gang that runs"},
		LimitsQueues:     {true, "a queue's capability"},
	}
}

// OnCoscheduling are those of scheduler-plugins with the configuration that ships with the operator.
func OnCoscheduling() Capabilities {
	return Capabilities{
		HoldsPods:        {false, "kube-scheduler judges pods, so they must exist"},
		PreemptsWhole:    {false, "it preempts rank by rank and knows no gang among the victims; the operator ends the rest"},
		ServesByPriority: {false, "a rank that found no node is tried again after a pause of its own: a lower gang whose pause ends first takes the room, and is then preempted (below)"},
		ServesTheRested:  {false, "usually: ranks whose pause (podInitialBackoffSeconds, podMaxBackoffSeconds) is over are tried in one round, by priority; but a pause has no end that can be seen (below)"},
		ServesTheUntried: {true, "its queue is ordered by priority, and it begins when it knows all pods"},
		ServesInOrder:    {false, "for the same reason a later gang may be tried first"},
		LetsSmallPass:    {true, "nothing is kept free for the large one: a higher priority, which preempts, gets it its turn"},
		KeepsPlace:       {false, "it counts a group's ranks by name, so the gang returns with a new group, whose age decides"},
		CountsRoles:      {false, "minMember counts any ranks"},
		RefusesRoles:     {true, "minMember counts any ranks, so such a job is refused"},
		AddsRanks:        {true, "a group that has its minimum lets single ranks pass"},
		LimitsQueues:     {false, "it has no queues; an ElasticQuota limits a namespace (examples/quotas)"},
	}
}

// OnNative are those of Kubernetes' own gang scheduling.
func OnNative() Capabilities {
	return Capabilities{
		HoldsPods:        {false, "kube-scheduler judges pods, so they must exist"},
		PreemptsWhole:    {true, "disruptionMode PodGroup"},
		ServesByPriority: {false, "once a second it tries every gang that waits, and room that comes in this moment may go to a lower one, which is then preempted; at any other moment the highest is first (below)"},
		ServesTheRested:  {false, "gangs never rest: it tries them without end (below)"},
		ServesTheUntried: {true, "its queue is ordered by priority, and it begins when it knows all gangs"},
		ServesInOrder:    {false, "for the same reason a later gang may be tried first"},
		LetsSmallPass:    {true, "nothing is kept free for the large one: a higher priority, which preempts, gets it its turn"},
		KeepsPlace:       {false, "a group cannot be used twice, so the gang returns with a new one"},
		CountsRoles:      {false, "minCount counts any ranks"},
		RefusesRoles:     {true, "minCount counts any ranks, so such a job is refused"},
		AddsRanks:        {true, "a group that has its minimum lets single ranks pass"},
		LimitsQueues:     {false, "it has no queues"},
	}
}

// OnKueue are those of Kueue with Kubernetes' own gang scheduling as the binder.
func OnKueue() Capabilities {
	return Capabilities{
		HoldsPods:        {true, "a Workload that is not admitted has no pods"},
		PreemptsWhole:    {true, "a Workload is evicted whole"},
		ServesByPriority: {true, "a queue is ordered by priority"},
		ServesTheRested:  {false, "what waits in a queue waits for quota, which is given by priority (above); what is let in and finds no node is the binder's"},
		ServesTheUntried: {false, "its webhooks are a part of it: while it is away no Workload can be made, and the operator asks again until it is back"},
		ServesInOrder:    {true, "those of a priority are served by age"},
		LetsSmallPass:    {true, "with queueingStrategy BestEffortFIFO, the default; with StrictFIFO nobody passes (examples/quotas/kueue/fifo.yaml)"},
		KeepsPlace:       {true, "one Workload serves all attempts, and those of a priority are served by age"},
		CountsRoles:      {false, "the binder's minCount counts any ranks"},
		RefusesRoles:     {true, "the binder's minCount counts any ranks, so such a job is refused"},
		AddsRanks:        {false, "it admits a number of ranks once (minCount), and this number is the gang"},
		LimitsQueues:     {true, "a ClusterQueue's nominalQuota"},
	}
}
