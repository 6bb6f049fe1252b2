package planner

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// noReports is the state of a process that has received no report.
type noReports struct{}

func (noReports) Reported(types.UID) (int32, time.Time, bool) { return 0, time.Time{}, false }

// TestPlannerPresumesReports: a new process has received no report. It takes the attempts as reporting that
// reported to a former process: otherwise it would stop gangs without a request for a checkpoint.
func TestPlannerPresumesReports(t *testing.T) {
	clock := testingclock.NewFakeClock(jobtest.Start)
	p := New(&Options{Broker: true}, Dependencies{
		Clock: clock, Reports: noReports{}, Owned: memory.NewOwnedCache(clock, func(client.Object) {}),
		State: &backends.ClusterState{Cluster: clusterstate.New(memory.JobKind.Kind)},
	})
	job := jobtest.Bert(1)
	job.Status.Attempt = 1
	if c := p.contender(job, nil, clock.Now()); !c.Reported.IsZero() {
		t.Errorf("without progress: reported at %s", c.Reported)
	}
	job.Status.Progress = &v1alpha1.ProgressStatus{Attempt: 1}
	began := clock.Now()
	if c := p.contender(job, nil, began); !c.Reported.Equal(began) {
		t.Errorf("with progress: reported at %s", c.Reported)
	}
	clock.Step(time.Minute)
	if c := p.contender(job, nil, clock.Now()); !c.Reported.Equal(began) {
		t.Errorf("a minute later: reported at %s", c.Reported)
	}
	job.Status.Attempt = 2
	if c := p.contender(job, nil, clock.Now()); !c.Reported.IsZero() {
		t.Errorf("in another attempt: reported at %s", c.Reported)
	}
}
