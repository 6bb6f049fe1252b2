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

// Options of the demo.
type Options struct {
	// Dir of the local cluster. One that is up is used if it runs the scheduler.
	Dir string
	// Modules is localcluster's option of that name.
	Modules string
	// Scheduler is volcano, native, coscheduling or kueue.
	Scheduler string
	// Preemption decides who chooses the victims of urgent. Empty: the operator, where the scheduler supports
	// it.
	Preemption PreemptionBy
	// Operator and Server are the paths of their binaries.
	Operator, Server string
	// Trainers is localcluster's option of that name.
	Trainers string
	// Down ends operator and server after the story, and the cluster if the demo brought it up.
	Down bool
	// In and Out decide between the live table and lines. The story is written to Out, progress to Progress.
	In, Out  *os.File
	Progress io.Writer
}

// PreemptionBy names who chooses the victims.
type PreemptionBy string

const (
	// ByOperator: the operator, which requests a checkpoint first.
	ByOperator PreemptionBy = "operator"
	// ByScheduler: the scheduler, which can pick single ranks.
	ByScheduler PreemptionBy = "scheduler"
)

// brokered reports whether the operator chooses the victims.
func (o Options) brokered() bool {
	return o.Preemption != ByScheduler && slices.Contains(schedulers.Brokers(), o.Scheduler)
}

// validatePreemption returns an error if the scheduler does not support the option.
func (o Options) validatePreemption() error {
	switch o.Preemption {
	case "", ByScheduler:
		return nil
	case ByOperator:
		if !o.brokered() {
			return fmt.Errorf("--preemption operator works with %s, not with %s; leave it "+
				"out", strings.Join(schedulers.Brokers(), ", "), o.Scheduler)
		}
		return nil
	}
	return fmt.Errorf("unknown --preemption %s; known are %s and %s", o.Preemption, ByOperator, ByScheduler)
}

// clusterCreator marks the clusters that a demo brings up. A demo ends no others.
const clusterCreator = "demo"

// cluster returns the options of the cluster that the demo creates. It runs only the story's scheduler, so
// that the first run builds no other.
func (o Options) cluster(root string) localcluster.Options {
	return localcluster.Options{
		Dir: o.Dir, Creator: clusterCreator, Modules: o.Modules, Audit: true, Progress: o.Progress,
		Schedulers: []string{o.Scheduler}, Trainers: o.Trainers,
		CRDs: []string{filepath.Join(root, crdFolder)},
	}
}
