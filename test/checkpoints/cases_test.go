//go:build cluster

package checkpoints

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

var schedulers = []v1alpha1.SchedulerName{v1alpha1.SchedulerVolcano, v1alpha1.SchedulerNative}

// saves configures a trainer that cooperates.
const saves = "every=8s save=2s"

// TestOperatorKilled kills the operator when the preemption has begun and again when the gang is gone; the
// outcome is the same. It runs first and alone, because the other tests need the operator. Its last part,
// which kills nothing, runs in parallel with them.
func TestOperatorKilled(t *testing.T) {
	var fixtures []*fixture
	for _, scheduler := range schedulers {
		fixtures = append(fixtures, newFixture(t, scheduler, ranks))
	}
	for _, s := range fixtures {
		s.train(short, saves)
	}
	for _, s := range fixtures {
		s.preempt()
	}
	var asked []map[string]types.UID
	for _, s := range fixtures {
		s.Until("a rank is deleted", func(context.Context) (string, error) {
			if len(s.deletedRanks()) == 0 {
				return "none is", nil
			}
			return "", nil
		})
	}
	operatorProcess.Kill()
	for _, s := range fixtures {
		asked = append(asked, s.deletedRanks())
	}
	for i, s := range fixtures { // their last reports reach no operator
		s.gone("they are gone, while no operator runs", asked[i])
	}
	if err := operatorProcess.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range fixtures {
		all := map[string]types.UID{}
		pods, _ := s.now(low, 1)
		for name, p := range pods {
			all[name] = p.UID
		}
		s.gone("all are gone", all)
	}
	operatorProcess.Kill()
	if err := operatorProcess.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range fixtures {
		s.removePreemptor()
	}
	for _, s := range fixtures {
		s.checkSavedAtTheEnd(s.resumed())
		t.Logf("%s: versions of the pod that searches: %d", s.Scheduler, len(s.resolvers(low)))
	}
	t.Parallel()
	for _, s := range fixtures {
		s.completes()
	}
}

// deletedRanks returns the ranks of attempt 1 that have been deleted.
func (s *fixture) deletedRanks() map[string]types.UID {
	deleted := map[string]types.UID{}
	for _, p := range s.podsOf(low, 1) {
		if p.DeletionTimestamp != nil {
			deleted[p.Name] = p.UID
		}
	}
	return deleted
}

func (s *fixture) gone(what string, pods map[string]types.UID) {
	s.T.Helper()
	s.Until(what, func(context.Context) (string, error) {
		last, gone := s.now(low, 1)
		for name, uid := range pods {
			if last[name].UID == uid && !gone[name] {
				return name + " is there", nil
			}
		}
		return "", nil
	})
}

// TestPreempted: a trainer that cooperates loses nothing and completes.
func TestPreempted(t *testing.T) {
	t.Parallel()
	for _, scheduler := range schedulers {
		t.Run(string(scheduler), func(t *testing.T) {
			t.Parallel()
			s := newFixture(t, scheduler, ranks)
			s.train(short, saves)
			s.preempt()
			s.removePreemptor()
			s.checkSavedAtTheEnd(s.resumed())
			s.completes()
		})
	}
}

// TestDies: a trainer that dies at SIGTERM loses the steps since its last commit, at most one interval.
func TestDies(t *testing.T) {
	t.Parallel()
	const every = 15
	for _, scheduler := range schedulers {
		t.Run(string(scheduler), func(t *testing.T) {
			t.Parallel()
			s := newFixture(t, scheduler, ranks)
			s.train(forever, fmt.Sprintf("every=%ds save=2s on-sigterm=die", every))
			s.preempt()
			s.removePreemptor()
			j := s.resumed()
			s.check(j)
			if lost := j.Status.Work.LostSteps; lost <= 0 || lost > every*rate {
				t.Errorf("it lost %d steps, want some, at most the %d of an interval", lost, every*rate)
			}
			if j.Status.Preemptions != 1 {
				t.Errorf("%d preemptions, want 1", j.Status.Preemptions)
			}
		})
	}
}

// TestIgnored: a trainer that ignores its resume point is detected, both by the job's status and by the
// shared check.
func TestIgnored(t *testing.T) {
	t.Parallel()
	s := newFixture(t, v1alpha1.SchedulerVolcano, ranks)
	s.train(forever, saves+" ignore-resume=true")
	s.preempt()
	s.removePreemptor()
	var wrong string
	s.until("the job says that its resume point was ignored", func(j *v1alpha1.TrainingJob) string {
		var missing string
		if missing, wrong = s.goesOn(); missing == "" && wrong == "" {
			t.Fatalf("the check that all others pass finds nothing wrong: %+v, %+v",
				j.Status.Checkpoint.ResumeFrom, j.Status.Progress)
		}
		if !meta.IsStatusConditionTrue(j.Status.Conditions, v1alpha1.ConditionResumeIgnored) {
			return "it does not"
		}
		if wrong == "" {
			return "the check does not fail: " + missing
		}
		return ""
	})
	t.Logf("the check says: %s", wrong)
	pods, _ := s.now(low, 2)
	for name, pod := range pods { // the operator passed the right path
		if from := resumeOf(pod); !strings.HasPrefix(from, "/checkpoints/attempt-1/step-") {
			t.Errorf("%s is given %q to resume from", name, from)
		}
	}
}

// TestSuspended: a suspended gang is asked for a checkpoint before its ranks are ended, and resumes from it.
func TestSuspended(t *testing.T) {
	t.Parallel()
	s := newFixture(t, v1alpha1.SchedulerNative, ranks)
	j := s.train(forever, "every=30s save=3s")
	s.MergePatch(j.DeepCopy(), `{"spec":{"runPolicy":{"suspend":true}}}`)
	s.Reaches(low, v1alpha1.PhaseSuspended)
	s.MergePatch(j.DeepCopy(), `{"spec":{"runPolicy":{"suspend":false}}}`)
	j = s.resumed()
	newest := s.check(j)
	asked := false
	for _, v := range s.job(low) {
		asked = asked || v.Status.Drain != nil && v.Status.Drain.CommandID != ""
	}
	if !asked {
		t.Error("no checkpoint was asked for")
	}
	// A checkpoint that began at SIGTERM takes at least 3 s. Times in a pod have a resolution of one second.
	for _, p := range s.podsOf(low, 1) {
		if p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds == 0 {
			continue
		}
		sigterm := p.DeletionTimestamp.Add(-time.Duration(*p.DeletionGracePeriodSeconds) * time.Second)
		if newest.Time.After(sigterm.Add(2 * time.Second)) {
			t.Errorf("%s got SIGTERM at %s, before the checkpoint of %s was done", p.Name, sigterm, newest.Time)
		}
	}
	if j.Status.Work.LostSteps != 0 || j.Status.Preemptions != 0 {
		t.Errorf("it lost %d steps, and counts %d preemptions; want none", j.Status.Work.LostSteps,
			j.Status.Preemptions)
	}
}

// TestNodeDies kills the node of rank 0: nothing reports the last save, so the volume is searched.
func TestNodeDies(t *testing.T) {
	t.Parallel()
	s := newFixture(t, v1alpha1.SchedulerVolcano, ranks+1)
	s.train(forever, "every=8s save=2s")
	pods, _ := s.now(low, 1)
	rank0 := pods[low+"-worker-0"]
	if err := cluster.KillNode(t.Context(), rank0.Spec.NodeName); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: rank0.Spec.NodeName}}
	s.Until("the node is lost", func(ctx context.Context) (string, error) {
		if err := s.Client.Get(ctx, types.NamespacedName{Name: node.Name}, node); err != nil {
			return "", err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
				return "", nil
			}
		}
		return "it is ready", nil
	})
	// What an admin does who knows that the node is powered off.
	s.Until("the node is out of service", func(ctx context.Context) (string, error) {
		if err := s.Client.Get(ctx, types.NamespacedName{Name: node.Name}, node); err != nil {
			return "", err
		}
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService,
			Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
		if err := s.Client.Update(ctx, node); err != nil {
			return err.Error(), nil // a conflict; try again
		}
		return "", nil
	})
	j := s.resumed()
	newest := s.check(j)
	if word := s.lastReport(low, 1); word != nil {
		t.Errorf("the rank of a dead node has reported: %+v", word)
	}
	found := false
	for _, p := range s.resolvers(low) {
		for _, c := range p.Status.ContainerStatuses {
			if end := c.State.Terminated; end != nil {
				word, err := checkpoint.ParseTermination([]byte(end.Message))
				found = found || err == nil && word.Checkpoint != nil && word.Checkpoint.Step == newest.Step
			}
		}
	}
	if !found {
		t.Errorf("no pod has found step %d on the volume: %d versions of it were seen", newest.Step,
			len(s.resolvers(low)))
	}
	if j.Status.Preemptions != 1 {
		t.Errorf("%d preemptions, want 1", j.Status.Preemptions)
	}
}

// TestTorn: a save that is incomplete is skipped in favor of the previous one.
func TestTorn(t *testing.T) {
	t.Parallel()
	const every = 30
	s := newFixture(t, v1alpha1.SchedulerVolcano, ranks)
	// the second one
	before := s.train(forever, fmt.Sprintf("every=%ds save=2s torn-at=%d", every, every*rate+1))
	s.preempt()
	s.removePreemptor()
	j := s.resumed()
	newest, torn := s.left(j)
	if len(torn) != 1 || torn[0].Step <= newest.Step {
		t.Fatalf("the newest save is not torn: %v, and complete is %+v", torn, newest)
	}
	s.check(j)
	if from := j.Status.Checkpoint.ResumeFrom.Step; from != before.Status.Checkpoint.Latest.Step {
		t.Errorf("it resumes from step %d, want %d", from, before.Status.Checkpoint.Latest.Step)
	}
	if lost := j.Status.Work.LostSteps; lost != torn[0].Step-newest.Step {
		t.Errorf("it lost %d steps, want those from %d to the torn one of step %d", lost, newest.Step, torn[0].Step)
	}
}
