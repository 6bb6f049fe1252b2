package demo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// ErrNotHeld is returned by Run when the story was played and did not hold.
var ErrNotHeld = errors.New("the story did not hold")

// Options say how the demo is played.
type Options struct {
	// Dir of the local cluster. One that is up is used if it runs the scheduler.
	Dir string
	// Modules is localcluster's option of that name.
	Modules string
	// Scheduler is volcano, native, coscheduling or kueue.
	Scheduler string
	// Preemption says who chooses whom urgent takes the place of; empty: the operator where it can, see
	// PreemptionBy.
	Preemption PreemptionBy
	// Operator and Server are the paths of their binaries.
	Operator, Server string
	// Trainers is localcluster's option of that name.
	Trainers string
	// Down ends operator and server after the story, and the cluster if the demo brought it up.
	Down bool
	// In and Out decide between the live table and lines; the story goes to Out, progress to Progress.
	In, Out  *os.File
	Progress io.Writer
}

// PreemptionBy says who chooses the gang that makes room for another.
type PreemptionBy string

const (
	// ByOperator: the operator has it save first, where the scheduler lets it.
	ByOperator PreemptionBy = "operator"
	// ByScheduler: the scheduler takes ranks, as it does for everybody.
	ByScheduler PreemptionBy = "scheduler"
)

// brokered reports whether the operator chooses the victims.
func (o Options) brokered() bool {
	return o.Preemption != ByScheduler && slices.Contains(schedulers.Brokers(), o.Scheduler)
}

// validatePreemption refuses what the scheduler cannot do.
func (o Options) validatePreemption() error {
	switch o.Preemption {
	case "", ByScheduler:
		return nil
	case ByOperator:
		if !o.brokered() {
			return fmt.Errorf("--preemption operator: the operator has gangs make room on %s, and not on %s; "+
				"leave it out", strings.Join(schedulers.Brokers(), ", "), o.Scheduler)
		}
		return nil
	}
	return fmt.Errorf("--preemption %s: known are %s and %s", o.Preemption, ByOperator, ByScheduler)
}

// clusterCreator marks the clusters that a demo brings up. A demo ends no others.
const clusterCreator = "demo"

// cluster are the options of the cluster that the demo brings up. It runs no scheduler but the story's: the
// first run builds what its story needs.
func (o Options) cluster(root string) localcluster.Options {
	return localcluster.Options{
		Dir: o.Dir, Creator: clusterCreator, Modules: o.Modules, Audit: true, Progress: o.Progress,
		Schedulers: []string{o.Scheduler}, Trainers: o.Trainers,
		CRDs: []string{filepath.Join(root, crdFolder)},
	}
}
