package conformance

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// Capability is something that some schedulers can do and others cannot. A scenario names those that it
// needs.
type Capability string

const (
	// HoldsPods keeps the operator from creating pods until the gang fits.
	HoldsPods Capability = "HoldsPods"
	// PreemptsWhole evicts a gang whole or not at all.
	PreemptsWhole Capability = "PreemptsWhole"
	// ServesByPriority starts the highest of the gangs that wait for capacity when it becomes free.
	ServesByPriority Capability = "ServesByPriority"
	// PriorityAfterBackoff gives capacity that becomes free all at once to the highest of the gangs that were
	// not tried for longer than any backoff.
	PriorityAfterBackoff Capability = "PriorityAfterBackoff"
	// PriorityAfterDowntime starts the highest of the gangs that arrived while the scheduler was down.
	PriorityAfterDowntime Capability = "PriorityAfterDowntime"
	// ServesInOrder starts the oldest of the waiting gangs of one priority.
	ServesInOrder Capability = "ServesInOrder"
	// LetsSmallPass starts a small gang that fits before a large one that does not, however long that has
	// waited.
	LetsSmallPass Capability = "LetsSmallPass"
	// KeepsPlace starts a preempted gang again before gangs of its priority that came later.
	KeepsPlace Capability = "KeepsPlace"
	// CountsRoles includes each role's share in a minAvailable below the number of ranks.
	CountsRoles Capability = "CountsRoles"
	// RejectsRoles cannot count roles: a job that needs it is rejected by name.
	RejectsRoles Capability = "RejectsRoles"
	// AddsRanks lets ranks above the minimum join a running gang as capacity allows.
	AddsRanks Capability = "AddsRanks"
	// LimitsQueues gives the queues that jobs name a quota of GPUs.
	LimitsQueues Capability = "LimitsQueues"
	// DefersPreemption does not preempt for a gang while the operator requests saves from its victims and
	// stops them.
	DefersPreemption Capability = "DefersPreemption"
	// HasPreemptionGate delays the preemption for a gang until the operator has chosen the victims.
	HasPreemptionGate Capability = "HasPreemptionGate"
)

// Support says whether a scheduler has a capability, and why.
type Support struct {
	Supported bool `json:"supported"`
	// Reason is one sentence.
	Reason string `json:"reason"`
	// Details: the document says more than the reason.
	Details bool `json:"details,omitempty"`
}

// Capabilities of one scheduler: every Capability is a key.
type Capabilities map[Capability]Support

// With returns a copy in which one capability differs.
func (c Capabilities) With(name Capability, supported bool, reason string) Capabilities {
	out := Capabilities{}
	maps.Copy(out, c)
	out[name] = Support{Supported: supported, Reason: reason}
	return out
}

// Check returns an error if a capability is missing or unknown. The declaration must cover every capability.
func (c Capabilities) Check() error {
	var known []Capability
	for _, k := range Catalogue().Capabilities {
		known = append(known, k.ID)
		if c[k.ID].Reason == "" {
			return fmt.Errorf("capability %s: declare whether the scheduler has it, with a reason", k.ID)
		}
	}
	for name := range c {
		if !slices.Contains(known, name) {
			return fmt.Errorf("capability %s is unknown", name)
		}
	}
	return nil
}

// Lacks returns the first of the needs that the scheduler does not meet, with the reason; "" when it meets
// all.
func (c Capabilities) Lacks(needs []Capability) (Capability, string) {
	for _, name := range needs {
		if !c[name].Supported {
			return name, c[name].Reason
		}
	}
	return "", ""
}

// CapabilityCatalogue is the content of testdata/capabilities.yaml.
type CapabilityCatalogue struct {
	Capabilities []struct {
		ID Capability `json:"id"`
		// Label completes "a gang scheduler that ..." in the document.
		Label string `json:"label"`
	} `json:"capabilities"`
	Schedulers []CataloguedScheduler `json:"schedulers"`
}

// CataloguedScheduler is one scheduler with its configuration that ships with the operator.
type CataloguedScheduler struct {
	Name string `json:"name"`
	// Title with version, for the document; "" leaves the scheduler out of it.
	Title    string       `json:"title,omitempty"`
	Supports Capabilities `json:"supports"`
}

//go:embed testdata/capabilities.yaml
var catalogue []byte

// Catalogue reads the catalogue that is part of this package.
func Catalogue() CapabilityCatalogue {
	var c CapabilityCatalogue
	if err := yaml.UnmarshalStrict(catalogue, &c); err != nil {
		panic("conformance: the embedded capabilities.yaml is invalid: " + err.Error())
	}
	return c
}

// CapabilitiesOf returns those of a scheduler of the catalogue; of any other they are empty and fail Check.
func CapabilitiesOf(scheduler string) Capabilities {
	for _, s := range Catalogue().Schedulers {
		if s.Name == scheduler {
			return s.Supports
		}
	}
	return nil
}
