//go:build cluster

package simtrainer_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// within is how long anything may take on a machine that is slow and busy.
const within = 4 * time.Minute

// TestTrainers plays trainers as localcluster up does: with its own process, on a real API server, with real tokens.
func TestTrainers(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "localcluster")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/localcluster").CombinedOutput(); err != nil {
		t.Fatalf("building the program that plays trainers: %v\n%s", err, out)
	}
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: filepath.Join(t.TempDir(), "cluster"), Schedulers: []string{localcluster.SchedulerNative}, Nodes: 3,
		Attached: true, Trainers: binary, Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(cluster.LogDir(), "trainers.log"))
			t.Logf("the simulator's log:\n%s", log)
		}
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	api, err := client.NewWithWatch(cluster.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{cluster: cluster, api: api}
	s.desk = newDesk(t, api)
	t.Run("a gang trains, reports and completes", s.completes)
	t.Run("a deleted gang saves, and the next attempt resumes", s.resumes)
	t.Run("a gang that dies loses what came after its last commit", s.dies)
	t.Run("a command is obeyed", s.obeys)
	t.Run("a simulator that was killed goes on", s.killed)
	t.Run("nothing happens on a dead node", s.deadNode)
	t.Run("a pod that cannot be played says why", s.refused)
	t.Run("a claim of the simulated class is bound", s.binds)
	t.Run("60 gangs of 8 ranks", s.many)
}

type suite struct {
	cluster *localcluster.Cluster
	api     client.WithWatch
	desk    *desk
}

func (s *suite) create(t *testing.T, pods ...*corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		if err := s.api.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *suite) delete(t *testing.T, pods ...*corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		if err := s.api.Delete(t.Context(), pod); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() (bool, string)) {
	t.Helper()
	last, deadline := "", time.Now().Add(within)
	for time.Now().Before(deadline) {
		ok, state := condition()
		if ok {
			return
		}
		last = state
		select {
		case <-t.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("waiting until %s: last %s", what, last)
}

func (s *suite) ended(t *testing.T, pod *corev1.Pod) *corev1.ContainerStateTerminated {
	t.Helper()
	eventually(t, pod.Name+" has ended", func() (bool, string) {
		if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, err.Error()
		}
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed, string(pod.Status.Phase)
	})
	return terminated(pod)
}

func terminated(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == "trainer" {
			return c.State.Terminated
		}
	}
	return nil
}

func (s *suite) gone(t *testing.T, pods ...*corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		eventually(t, pod.Name+" is gone", func() (bool, string) {
			err := s.api.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
	}
}

// lastWords deletes pods and returns how each ended, before it was gone.
func (s *suite) lastWords(t *testing.T, pods ...*corev1.Pod) map[string]*corev1.ContainerStateTerminated {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	list := &corev1.PodList{}
	if err := s.api.List(ctx, list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	events, err := s.api.Watch(ctx, list, client.InNamespace("default"), &client.ListOptions{Raw: rawVersion(list.ResourceVersion)})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	s.delete(t, pods...)
	words, left := map[string]*corev1.ContainerStateTerminated{}, map[string]bool{}
	for _, pod := range pods {
		left[pod.Name] = true
	}
	for len(left) > 0 {
		event, ok := <-events.ResultChan()
		if !ok {
			t.Fatalf("the watch ended; still there: %v", left)
		}
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || !left[pod.Name] {
			continue
		}
		if end := terminated(pod); end != nil {
			words[pod.Name] = end
		}
		if event.Type == watch.Deleted {
			delete(left, pod.Name)
		}
	}
	return words
}

func word(t *testing.T, end *corev1.ContainerStateTerminated) *checkpoint.Termination {
	t.Helper()
	if end == nil {
		t.Fatal("the pod went without an end")
	}
	w, err := checkpoint.ParseTermination([]byte(end.Message))
	if err != nil {
		t.Fatalf("the last word %q: %v", end.Message, err)
	}
	if w.ExitCode != end.ExitCode {
		t.Errorf("the last word says exit code %d, the container %d", w.ExitCode, end.ExitCode)
	}
	return w
}

func (s *suite) completes(t *testing.T) {
	gang := newGang(s.desk, "completes", "steps=60 rate=20 every=1s save=200ms", 1, 3, "")
	s.desk.refuse("completes-worker-0", 2) // while the operator is away
	s.create(t, gang[1:]...)
	s.create(t, gang[0])
	w := word(t, s.ended(t, gang[0]))
	if w.Reason != checkpoint.ExitCompleted || w.Phase != checkpoint.PhaseCompleted || *w.Step != 60 ||
		w.Checkpoint == nil || w.Checkpoint.Step != 60 || w.Checkpoint.URI != "pvc://completes-checkpoints/attempt-1/step-0000000060" {
		t.Errorf("the last word of rank 0: %+v, %+v", w, w.Checkpoint)
	}
	for _, pod := range gang[1:] {
		if w := word(t, s.ended(t, pod)); w.Reason != checkpoint.ExitExited || w.ExitCode != 0 || w.Checkpoint != nil || w.Phase != "" {
			t.Errorf("the last word of %s: %+v", pod.Name, w)
		}
	}
	reports := s.desk.of(gang[0])
	if len(reports) < 2 || s.desk.refused("completes-worker-0") != 2 {
		t.Fatalf("reports %+v, %d refused", reports, s.desk.refused("completes-worker-0"))
	}
	last := reports[len(reports)-1]
	if last.Phase != checkpoint.PhaseCompleted || last.Step != 60 || last.FirstStep == nil || *last.FirstStep != 1 || last.Checkpoint.Step != 60 {
		t.Errorf("the last report: %+v", last)
	}
	for _, pod := range gang[1:] {
		if said := s.desk.of(pod); len(said) > 0 {
			t.Errorf("%s has reported: %+v", pod.Name, said)
		}
	}
	s.delete(t, gang...)
	s.gone(t, gang...)
}

// committed waits until rank 0 has reported a checkpoint.
func (s *suite) committed(t *testing.T, pod *corev1.Pod) checkpoint.Report {
	t.Helper()
	var last checkpoint.Report
	eventually(t, pod.Name+" reports a checkpoint and a step after it", func() (bool, string) {
		reports := s.desk.of(pod)
		if len(reports) == 0 {
			return false, "no report"
		}
		last = reports[len(reports)-1]
		return last.Checkpoint != nil && last.Step > last.Checkpoint.Step, fmt.Sprintf("%+v", last)
	})
	return last
}

const long = "steps=1000000 rate=100 every=1s save=300ms"

func (s *suite) resumes(t *testing.T) {
	gang := newGang(s.desk, "resumes", long, 1, 2, "")
	s.create(t, gang...)
	before := s.committed(t, gang[0])
	words := s.lastWords(t, gang...)
	w := word(t, words[gang[0].Name])
	if w.Reason != checkpoint.ExitExited || w.ExitCode != 0 || w.Phase == checkpoint.PhaseCompleted {
		t.Errorf("the last word: %+v", w)
	}
	if w.Checkpoint == nil || w.Checkpoint.Step != *w.Step || *w.Step < before.Step {
		t.Fatalf("what was trained was not saved: %+v, %+v; it had reported step %d", w, w.Checkpoint, before.Step)
	}
	if follower := word(t, words[gang[1].Name]); follower.ExitCode != 0 {
		t.Errorf("the follower: %+v", follower)
	}

	resolver := newResolver("resumes", "trainer")
	s.create(t, resolver)
	r := word(t, s.ended(t, resolver))
	if r.Reason != checkpoint.ExitResolved || r.Checkpoint == nil || r.Checkpoint.URI != w.Checkpoint.URI || r.Checkpoint.Step != w.Checkpoint.Step {
		t.Errorf("the resolver says %+v, %+v", r, r.Checkpoint)
	}

	path := strings.Replace(w.Checkpoint.URI, "pvc://resumes-checkpoints", "/checkpoints", 1)
	next := newGang(s.desk, "resumes", long, 2, 2, path)
	s.create(t, next...)
	if r := s.committed(t, next[0]); r.FirstStep == nil || *r.FirstStep != w.Checkpoint.Step+1 || r.Checkpoint.Step <= w.Checkpoint.Step {
		t.Errorf("attempt 2 reports %+v", r)
	}
	s.lastWords(t, next...)

	ignoring := newGang(s.desk, "resumes", long+" ignore-resume=true", 3, 2, path)
	s.create(t, ignoring...)
	if r := s.committed(t, ignoring[0]); r.FirstStep == nil || *r.FirstStep != 1 {
		t.Errorf("a trainer that ignores its resume point reports %+v", r)
	}
	s.lastWords(t, ignoring...)

	lost := newGang(s.desk, "resumes", long, 4, 2, "/checkpoints/attempt-1/step-0000000001")
	s.create(t, lost...)
	if w := word(t, s.ended(t, lost[0])); w.ExitCode != 1 || !strings.Contains(w.Log, "no complete checkpoint at pvc://resumes-checkpoints/attempt-1/step-0000000001") {
		t.Errorf("a trainer whose resume point is not there: %+v", w)
	}
	s.delete(t, lost...)
	s.gone(t, lost...)
}

func (s *suite) dies(t *testing.T) {
	gang := newGang(s.desk, "dies", strings.Replace(long, "every=1s", "every=3s", 1)+" on-sigterm=die", 1, 2, "")
	s.create(t, gang...)
	s.committed(t, gang[0])
	words := s.lastWords(t, gang...)
	if w := word(t, words[gang[0].Name]); w.Reason != checkpoint.ExitSignaled || w.ExitCode != 143 || w.Checkpoint == nil || *w.Step <= w.Checkpoint.Step {
		t.Errorf("rank 0: %+v, %+v", w, w.Checkpoint)
	}
	if w := word(t, words[gang[1].Name]); w.ExitCode != 143 {
		t.Errorf("rank 1: %+v", w)
	}
}

func (s *suite) obeys(t *testing.T) {
	gang := newGang(s.desk, "obeys", strings.Replace(long, "every=1s", "every=1h", 1), 1, 2, "")
	s.desk.command("obeys-worker-0", checkpoint.Answer{Command: checkpoint.CommandCheckpointAndExit, ID: "drain-1"})
	s.create(t, gang...)
	w := word(t, s.ended(t, gang[0]))
	if w.Reason != checkpoint.ExitExited || w.ExitCode != 0 {
		t.Errorf("the last word: %+v", w)
	}
	if reports := s.desk.of(gang[0]); reports[len(reports)-1].CommandID != "drain-1" || reports[len(reports)-1].DeliveredID != "drain-1" {
		t.Errorf("the last report: %+v", reports[len(reports)-1])
	}
	if w := word(t, s.ended(t, gang[1])); w.ExitCode != 0 {
		t.Errorf("rank 1: %+v", w)
	}
	s.delete(t, gang...)
	s.gone(t, gang...)
}

func (s *suite) killed(t *testing.T) {
	gang := newGang(s.desk, "killed", long, 1, 2, "")
	s.create(t, gang...)
	before := s.committed(t, gang[0])
	if err := syscall.Kill(s.simulator(t).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the simulator is dead", func() (bool, string) { return !s.simulator(t).Running, "it runs" })
	// What happens while nobody plays: one rank is asked to go.
	s.delete(t, gang[1])
	if err := s.cluster.StartProcess(t.Context(), "trainers"); err != nil {
		t.Fatal(err)
	}
	count := len(s.desk.of(gang[0]))
	eventually(t, "it reports again", func() (bool, string) { return len(s.desk.of(gang[0])) > count, "no new report" })
	after := s.desk.of(gang[0])[count]
	if after.Step < before.Step || after.Checkpoint == nil || after.Checkpoint.Step < before.Checkpoint.Step || *after.FirstStep != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if w := word(t, s.lastWords(t, gang[0])[gang[0].Name]); w.Checkpoint == nil || w.Checkpoint.Step != *w.Step || *w.Step < after.Step {
		t.Errorf("the last word: %+v", w)
	}
	s.gone(t, gang[1])
}

// simulator is the process.
func (s *suite) simulator(t *testing.T) localcluster.ProcessStatus {
	t.Helper()
	for _, p := range s.cluster.Status(t.Context()).Processes {
		if p.Name == "trainers" {
			return p
		}
	}
	t.Fatal("the cluster has no process trainers")
	return localcluster.ProcessStatus{}
}

func (s *suite) deadNode(t *testing.T) {
	dead, alive := newGang(s.desk, "dead", long, 1, 1, ""), newGang(s.desk, "alive", long, 1, 1, "")
	dead[0].Spec.NodeName = "node-2"
	s.create(t, dead[0], alive[0])
	s.committed(t, dead[0])
	if err := s.cluster.KillNode(t.Context(), "node-2"); err != nil {
		t.Fatal(err)
	}
	// One report may be under way.
	eventually(t, "the other one reports twice", s.moreReports(alive[0], 2))
	silent := len(s.desk.of(dead[0]))
	s.delete(t, dead[0])
	eventually(t, "the other one reports twice more", s.moreReports(alive[0], 2))
	s.lastWords(t, alive[0])
	if now := len(s.desk.of(dead[0])); now != silent {
		t.Errorf("%d reports came from a dead node", now-silent)
	}
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(dead[0]), dead[0]); err != nil || terminated(dead[0]) != nil {
		t.Errorf("the pod on the dead node: %v, %+v", err, terminated(dead[0]))
	}
	if err := s.cluster.ReviveNode(t.Context(), "node-2"); err != nil {
		t.Fatal(err)
	}
	s.gone(t, dead[0])
}

// moreReports than there are now.
func (s *suite) moreReports(pod *corev1.Pod, more int) func() (bool, string) {
	want := len(s.desk.of(pod)) + more
	return func() (bool, string) {
		got := len(s.desk.of(pod))
		return got >= want, fmt.Sprintf("%d of %d", got, want)
	}
}

func (s *suite) refused(t *testing.T) {
	gang := newGang(s.desk, "refused", "steps=100 speed=5", 1, 1, "")
	s.create(t, gang...)
	if w := word(t, s.ended(t, gang[0])); w.Reason != checkpoint.ExitStartFailed || !strings.Contains(w.Problem, `"speed" is unknown`) {
		t.Errorf("the last word: %+v", w)
	}
	s.delete(t, gang...)
	s.gone(t, gang...)
}

// many gangs come to their end; what that costs is logged.
func (s *suite) many(t *testing.T) {
	const gangs, ranks = 60, 8
	before := cpuSeconds(t, s.simulator(t).PID)
	began := time.Now()
	var all []*corev1.Pod
	for i := range gangs {
		gang := newGang(s.desk, fmt.Sprintf("many-%d", i), "steps=600 rate=20 every=10s save=1s", 1, ranks, "")
		s.create(t, gang...)
		all = append(all, gang...)
	}
	created := time.Since(began)
	for _, pod := range all {
		if w := word(t, s.ended(t, pod)); w.ExitCode != 0 {
			t.Errorf("%s: %+v", pod.Name, w)
		}
	}
	t.Logf("%d ranks created in %s, all ended after %s; the simulator used %.1f s of CPU", len(all), created.Round(time.Second),
		time.Since(began).Round(time.Second), cpuSeconds(t, s.simulator(t).PID)-before)
	s.delete(t, all...)
	s.gone(t, all...)
}

// cpuSeconds that a process has used: fields 14 and 15 of /proc/<pid>/stat, in hundredths (proc(5)).
func cpuSeconds(t *testing.T, pid int) float64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // from the third on
	ticks := 0.0
	for _, field := range fields[14-3 : 16-3] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return ticks / 100
}

// claims of the simulated class are bound, others are left alone, and a volume goes with its claim.
func (s *suite) binds(t *testing.T) {
	claim := func(name string, class *string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
			},
		}
	}
	none, ours := claim("without-class", nil), claim("simulated", ptr.To(localcluster.StorageClass))
	for _, c := range []*corev1.PersistentVolumeClaim{none, ours} { // the other first: it had its time when ours is bound
		if err := s.api.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the claim is bound", func() (bool, string) {
		err := s.api.Get(t.Context(), client.ObjectKeyFromObject(ours), ours)
		return err == nil && ours.Status.Phase == corev1.ClaimBound, fmt.Sprint(ours.Status.Phase, err)
	})
	volumes := &corev1.PersistentVolumeList{}
	if err := s.api.List(t.Context(), volumes); err != nil {
		t.Fatal(err)
	}
	if len(volumes.Items) != 1 || volumes.Items[0].Name != ours.Spec.VolumeName {
		t.Errorf("there are %d volumes; want the claim's, %s", len(volumes.Items), ours.Spec.VolumeName)
	}
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(none), none); err != nil || none.Spec.VolumeName != "" || none.Spec.StorageClassName != nil {
		t.Errorf("a claim without class: %+v, %v", none.Spec, err)
	}
	for _, c := range []*corev1.PersistentVolumeClaim{none, ours} {
		if err := s.api.Delete(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the volume is gone", func() (bool, string) {
		err := s.api.List(t.Context(), volumes)
		return err == nil && len(volumes.Items) == 0, fmt.Sprint(len(volumes.Items), err)
	})
}
