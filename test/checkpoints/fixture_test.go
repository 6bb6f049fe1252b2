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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	// low is the gang under test, whose ranks need a node each; preemptor preempts it.
	low, preemptor = "low", "preemptor"
	ranks          = 2
	// rate of the trainers, in steps per second.
	rate = 100
	// forever is more steps than any test waits for; short takes a minute.
	forever, short = 10_000_000, 6_000
)

// fixture is a namespace with nodes for one gang, and the history of everything in it.
type fixture struct {
	*harness.Namespace
	*history
	// preemptorSubmitted is the time at which the preemptor was submitted.
	preemptorSubmitted time.Time
}

func newFixture(t *testing.T, s v1alpha1.SchedulerName, nodes int) *fixture {
	t.Helper()
	p := cluster.NewNamespace(t, s, nodes)
	return &fixture{Namespace: p, history: record(t, p.Name)}
}

// train creates the gang on a volume of its own and waits until it has a first checkpoint.
func (s *fixture) train(
	steps int, trainer string, edits ...func(*v1alpha1.TrainingJob),
) *v1alpha1.TrainingJob {
	s.T.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ti")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"},
			},
			ClaimRef: &corev1.ObjectReference{Namespace: s.Name, Name: low + "-checkpoints"},
		},
	}
	s.Create(volume)
	s.T.Cleanup(func() {
		if err := s.Client.Delete(context.Background(), volume); err != nil {
			s.T.Error(err)
		}
	})
	s.Job(low, ranks, "8", func(j *v1alpha1.TrainingJob) {
		grace := int32(60)
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{GraceSeconds: &grace}
		play(j, fmt.Sprintf("steps=%d rate=%d %s", steps, rate, trainer))
		for _, edit := range edits {
			edit(j)
		}
	})
	var first *v1alpha1.TrainingJob
	s.until("it has a checkpoint", func(j *v1alpha1.TrainingJob) string {
		first = j
		if st := j.Status; st.Phase != v1alpha1.PhaseRunning || st.Checkpoint == nil ||
			st.Checkpoint.Latest == nil {
			return "it has none"
		}
		return ""
	})
	if first.Status.Attempt != 1 {
		s.T.Fatalf("undisturbed, it is in attempt %d: %s", first.Status.Attempt, first.Status.Message)
	}
	return first
}

// play makes the pods simulated trainers. It uses the full form, the only one with pod annotations.
func play(j *v1alpha1.TrainingJob, trainer string) {
	sp := &j.Spec
	sp.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
		Replicas: sp.Replicas,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{localcluster.AnnotationTrainer: trainer}},
			Spec: corev1.PodSpec{
				NodeSelector: sp.NodeSelector, Tolerations: sp.Tolerations,
				Containers: []corev1.Container{{Name: "trainer", Image: sp.Image, Command: sp.Command,
					Resources: sp.Resources}},
			},
		},
	}}
	sp.Replicas, sp.NodeSelector, sp.Tolerations, sp.Image, sp.Command = nil, nil, nil, "", nil
	sp.Resources = corev1.ResourceRequirements{}
}

// until waits until missing returns "" for the current job.
func (s *fixture) until(what string, missing func(*v1alpha1.TrainingJob) string) {
	s.T.Helper()
	s.Until(what, func(ctx context.Context) (string, error) {
		j, err := s.Get(ctx, low)
		if err != nil {
			return "", err
		}
		if m := missing(j); m != "" {
			return fmt.Sprintf("%s; it is %s, attempt %d: %s", m, j.Status.Phase, j.Status.Attempt,
				j.Status.Message), nil
		}
		return "", nil
	})
}

// preempt the gang by one that needs all its nodes.
func (s *fixture) preempt() {
	s.T.Helper()
	s.preemptorSubmitted = time.Now()
	s.Job(preemptor, ranks, "8", func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = high
	})
}

// removePreemptor once it has preempted the gang.
func (s *fixture) removePreemptor() {
	s.T.Helper()
	s.reachesAttempt(2)
	s.Reaches(preemptor, v1alpha1.PhaseRunning)
	s.Delete(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: preemptor, Namespace: s.Name}})
}

func (s *fixture) reachesAttempt(n int32) {
	s.T.Helper()
	s.until(fmt.Sprintf("attempt %d", n), func(j *v1alpha1.TrainingJob) string {
		if j.Status.Phase.Finished() {
			s.T.Fatalf("it finished before it was disturbed: %s", j.Status.Message)
		}
		if j.Status.Attempt < n {
			return "not yet"
		}
		return ""
	})
}

// goesOn checks whether attempt 2 continues from the resume point, as far as that is known: wrong says how it
// does not, and missing what has not been observed yet. With both empty it does.
//
//   - The status has a resume point, and every rank was given it.
//   - No progress before it was ever shown.
//   - The operator did not find that the trainer ignores it. It judges by the report from which it takes the
//     progress.
func (s *fixture) goesOn() (missing, wrong string) {
	versions := s.job(low)
	if len(versions) == 0 || versions[len(versions)-1].Status.Attempt < 2 {
		return "there is no second attempt", ""
	}
	last := versions[len(versions)-1]
	if last.Status.Attempt > 2 {
		return "", fmt.Sprintf("it is in attempt %d: %s", last.Status.Attempt, last.Status.Message)
	}
	cs := last.Status.Checkpoint
	if cs == nil || cs.ResumeFrom == nil {
		return "", "the status has no resume point"
	}
	path := strings.Replace(cs.ResumeFrom.URI, "pvc://"+low+"-checkpoints", "/checkpoints", 1)
	pods, _ := s.now(low, 2)
	for name, pod := range pods {
		if got := resumeOf(pod); got != path {
			return "", fmt.Sprintf("%s is given %q to resume from, the status has %q", name, got, path)
		}
	}
	progressed := false
	for _, j := range versions {
		if p := j.Status.Progress; p != nil && p.Attempt == 2 {
			progressed = true
			if p.Step < cs.ResumeFrom.Step {
				return "", fmt.Sprintf("step %d is behind the resume point, step %d", p.Step, cs.ResumeFrom.Step)
			}
		}
	}
	c := meta.FindStatusCondition(last.Status.Conditions, v1alpha1.ConditionResumeIgnored)
	switch {
	case c != nil && c.Status == metav1.ConditionTrue:
		return "", "the resume point was ignored: " + c.Message
	case len(pods) < ranks:
		return fmt.Sprintf("%d of %d ranks", len(pods), ranks), ""
	case !progressed:
		return "no progress of attempt 2", ""
	}
	return "", ""
}

// resumeOf returns the checkpoint that a pod's trainer is given to resume from; "unset" without the variable.
func resumeOf(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == checkpoint.EnvResume {
				return e.Value
			}
		}
	}
	return "unset"
}

// resumed waits until attempt 2 has resumed, and returns the job at that time.
func (s *fixture) resumed() *v1alpha1.TrainingJob {
	s.T.Helper()
	s.Until("it resumes where it was", func(context.Context) (string, error) {
		missing, wrong := s.goesOn()
		if wrong != "" {
			s.T.Fatalf("%s: attempt 2 does not go on: %s", s.Name, wrong)
		}
		return missing, nil
	})
	versions := s.job(low)
	return versions[len(versions)-1]
}

// left returns what attempt 1 left on the volume: its newest complete checkpoint, and newer torn ones.
func (s *fixture) left(j *v1alpha1.TrainingJob) (newest simtrainer.Checkpoint, torn []simtrainer.Checkpoint) {
	s.T.Helper()
	v, err := simtrainer.OpenStateFile(volumeFile)
	if err != nil {
		s.T.Fatal(err)
	}
	found, torn := v.Newest(simtrainer.Location{Namespace: s.Name, URI: "pvc://" + low + "-checkpoints",
		JobUID: string(j.UID)}, simtrainer.OfAttempt(1))
	if found == nil {
		s.T.Fatalf("attempt 1 left no complete checkpoint; torn: %v", torn)
	}
	return *found, torn
}

// check what every case has in common: the gang resumes from the newest complete checkpoint, and the lost
// work is counted.
func (s *fixture) check(j *v1alpha1.TrainingJob) simtrainer.Checkpoint {
	s.T.Helper()
	newest, _ := s.left(j)
	from, w := j.Status.Checkpoint.ResumeFrom, j.Status.Work
	if from.Step != newest.Step || !strings.HasSuffix(from.URI, newest.Path) {
		s.T.Errorf("it resumes from step %d, %s; the newest complete checkpoint is %+v", from.Step, from.URI,
			newest)
	}
	if w == nil {
		s.T.Fatal("nothing is known of its work")
	}
	if word := s.lastReport(low, 1); word != nil && w.LostSteps != *word.Step-from.Step {
		s.T.Errorf("it was at step %d and resumes from step %d; counted as lost are %d steps", *word.Step,
			from.Step, w.LostSteps)
	}
	if j.Status.Restarts != 0 {
		s.T.Errorf("%d restarts for what was no failure", j.Status.Restarts)
	}
	s.T.Logf("%s: resumed from step %d; lost %d steps, %d s, %d GPU seconds; ran again after %d s",
		s.T.Name(), from.Step, w.LostSteps, w.LostSeconds,
		w.LostGPUSeconds, w.ResumeSeconds)
	return newest
}

// checkSavedAtTheEnd checks that nothing was lost, because the trainer saved when the gang was preempted.
func (s *fixture) checkSavedAtTheEnd(j *v1alpha1.TrainingJob) {
	s.T.Helper()
	newest := s.check(j)
	if newest.Time.Before(s.preemptorSubmitted) {
		s.T.Errorf("its checkpoint is of %s, before it was preempted", newest.Time)
	}
	if lost := j.Status.Work.LostSteps; lost != 0 {
		s.T.Errorf("it lost %d steps", lost)
	}
	if j.Status.Preemptions != 1 {
		s.T.Errorf("%d preemptions, want 1", j.Status.Preemptions)
	}
}

// completes waits until the job succeeds in attempt 2, and checks that no progress before the resume point
// was shown.
func (s *fixture) completes() {
	s.T.Helper()
	j := s.Reaches(low, v1alpha1.PhaseSucceeded)
	if _, wrong := s.goesOn(); wrong != "" {
		s.T.Error(wrong)
	}
	if st := j.Status; st.Attempt != 2 || st.Restarts != 0 || st.Preemptions != 1 || st.Progress == nil ||
		st.Progress.Step != short {
		s.T.Errorf("attempt %d, restarts %d, preemptions %d, progress %+v", st.Attempt, st.Restarts,
			st.Preemptions, st.Progress)
	}
}
