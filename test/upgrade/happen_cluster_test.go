//go:build cluster

package upgrade

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// happen lets something happen to gangs that a former operator began: one ends and another gets its place,
// one is preempted and resumes, one that was suspended resumes, and one whose backoff is over starts again.
func (s *stage) happen(o *operator) {
	s.t.Helper()
	mark := s.mark()
	s.handOver()
	s.interrupt("contested-0")
	s.unsuspend("suspended-trained-0")
	s.goOn()
	s.t.Logf("operator %s wrote %v", o.name, tally(s.writesSince(mark, o.release)))
}

// handOver ends the gang that holds the pool full: the next one runs there.
func (s *stage) handOver() {
	s.t.Helper()
	s.finish(s.inFull(v1alpha1.PhaseRunning))
	next := s.inFull(v1alpha1.PhaseRunning)
	s.runsIn(next, 1)
}

// inFull waits until a gang of the pool is in a phase, and returns its name.
func (s *stage) inFull(phase v1alpha1.Phase) (name string) {
	s.t.Helper()
	s.until("a gang in full is "+string(phase), func(ctx context.Context) (string, error) {
		jobs := &v1alpha1.TrainingJobList{}
		if err := s.cluster.Client.List(ctx, jobs); err != nil {
			return "", err
		}
		var phases []string
		for i := range jobs.Items {
			j := &jobs.Items[i]
			if j.Namespace == full && j.Status.Phase == phase {
				name = j.Name
				return "", nil
			}
			phases = append(phases, string(j.Status.Phase))
		}
		return strings.Join(phases, " "), nil
	})
	return name
}

// interrupt a training: it resumes from the checkpoint that was known, or from one that it saved on its way
// out.
func (s *stage) interrupt(name string) {
	s.t.Helper()
	j := s.trained(name, s.attempt(name))
	attempt, step := j.Status.Attempt, j.Status.Checkpoint.Latest.Step
	if s.scheduler == localcluster.SchedulerCoscheduling { // it preempts no gangs
		s.disrupt(name)
		s.resumed(name, attempt+1, step)
		return
	}
	preemptor := s.next("preemptor")
	s.submit(gang{pool: contested, ranks: 2, each: gpusPerNode / 2, edit: with(ofClass(high))}, preemptor)
	runs(s, preemptor)
	j = s.job(name, "is queued again", func(j *v1alpha1.TrainingJob) string {
		if j.Status.Phase != v1alpha1.PhaseQueued || j.Status.Attempt != attempt+1 {
			return "not yet"
		}
		return ""
	})
	// Where the operator itself ends the gang, as under Kueue, it has it save first.
	saved := j.Status.Checkpoint.Latest.Step
	if saved < step {
		s.t.Errorf("the checkpoint of step %d of %s is forgotten: the latest is of %d", step, name, saved)
	}
	s.finish(preemptor)
	s.resumed(name, attempt+1, saved)
}

func (s *stage) attempt(name string) int32 {
	s.t.Helper()
	return s.job(name, "exists", func(*v1alpha1.TrainingJob) string { return "" }).Status.Attempt
}

// unsuspend resumes a training from its checkpoint, then suspends it again.
func (s *stage) unsuspend(name string) {
	s.t.Helper()
	j := s.job(name, "is Suspended", func(j *v1alpha1.TrainingJob) string {
		if j.Status.Phase != v1alpha1.PhaseSuspended {
			return "not yet"
		}
		return ""
	})
	s.suspend(name, false)
	s.resumed(name, j.Status.Attempt, j.Status.Checkpoint.Latest.Step)
	s.suspend(name, true)
	reaches(v1alpha1.PhaseSuspended)(s, name)
}

// revive the dead node: what was to start there starts, and what was to end there ends.
func (s *stage) revive() {
	s.t.Helper()
	// The local cluster takes a node with a taint for one that is not back yet.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: silent + "-0"}}
	s.patch(node, `{"spec":{"taints":null}}`)
	if err := s.cluster.ReviveNode(s.t.Context(), silent+"-0"); err != nil {
		s.t.Fatal(err)
	}
	runs(s, "starting-0")
	reaches(v1alpha1.PhaseSuspended)(s, "draining-0")
}

// backOff adds a gang that waits for its backoff to end.
func (s *stage) backOff() {
	s.t.Helper()
	name := s.next(restarting.name)
	s.submit(restarting, name)
	backsOff(s, name)
	s.backingOff = append(s.backingOff, name)
}

// goOn waits until those gangs run, whichever operator has begun their backoffs.
func (s *stage) goOn() {
	s.t.Helper()
	for _, name := range s.backingOff {
		if j := s.trained(name, 3); j.Status.Restarts != 2 {
			s.t.Errorf("%s has spent %d restarts, want 2", name, j.Status.Restarts)
		}
	}
}
