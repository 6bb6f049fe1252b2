//go:build cluster

package simtrainer_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// timeout of every wait, for a machine that is slow and busy.
const timeout = 4 * time.Minute

// suite is the cluster that all cases of TestTrainers share.
type suite struct {
	cluster *localcluster.Cluster
	api     client.WithWatch
	server  *fakeReportServer
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
	last, deadline := "", time.Now().Add(timeout)
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

// ended waits until a pod has ended, and returns how.
func (s *suite) ended(t *testing.T, pod *corev1.Pod) *corev1.ContainerStateTerminated {
	t.Helper()
	eventually(t, pod.Name+" has ended", func() (bool, string) {
		if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, err.Error()
		}
		phase := pod.Status.Phase
		return phase == corev1.PodSucceeded || phase == corev1.PodFailed, string(phase)
	})
	return terminated(pod)
}

// terminated is how a pod's trainer has ended; nil if it has not.
func terminated(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == "trainer" {
			return c.State.Terminated
		}
	}
	return nil
}

// gone waits until pods are gone.
func (s *suite) gone(t *testing.T, pods ...*corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		eventually(t, pod.Name+" is gone", func() (bool, string) {
			err := s.api.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
	}
}

// deleteAndRecord deletes pods, waits until they are gone, and returns how each ended before that.
func (s *suite) deleteAndRecord(
	t *testing.T, pods ...*corev1.Pod,
) map[string]*corev1.ContainerStateTerminated {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	list := &corev1.PodList{}
	if err := s.api.List(ctx, list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}
	events, err := s.api.Watch(ctx, list, client.InNamespace("default"), from)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	s.delete(t, pods...)
	ends, left := map[string]*corev1.ContainerStateTerminated{}, map[string]bool{}
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
			ends[pod.Name] = end
		}
		if event.Type == watch.Deleted {
			delete(left, pod.Name)
		}
	}
	return ends
}

// terminationOf parses the termination message of a container that has ended.
func terminationOf(t *testing.T, end *corev1.ContainerStateTerminated) *checkpoint.Termination {
	t.Helper()
	if end == nil {
		t.Fatal("the pod is gone, and its end was not seen")
	}
	w, err := checkpoint.ParseTermination([]byte(end.Message))
	if err != nil {
		t.Fatalf("the termination message %q: %v", end.Message, err)
	}
	if w.ExitCode != end.ExitCode {
		t.Errorf("the termination message says exit code %d, the container %d", w.ExitCode, end.ExitCode)
	}
	return w
}

// committed waits until rank 0 has reported a checkpoint.
func (s *suite) committed(t *testing.T, pod *corev1.Pod) checkpoint.Report {
	t.Helper()
	var last checkpoint.Report
	eventually(t, pod.Name+" reports a checkpoint and a step after it", func() (bool, string) {
		reports := s.server.of(pod)
		if len(reports) == 0 {
			return false, "no report"
		}
		last = reports[len(reports)-1]
		return last.Checkpoint != nil && last.Step > last.Checkpoint.Step, fmt.Sprintf("%+v", last)
	})
	return last
}

// simulator returns the status of the simulator's process.
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

// moreReports is a condition: so many more reports than now have arrived from a pod.
func (s *suite) moreReports(pod *corev1.Pod, more int) func() (bool, string) {
	want := len(s.server.of(pod)) + more
	return func() (bool, string) {
		got := len(s.server.of(pod))
		return got >= want, fmt.Sprintf("%d of %d", got, want)
	}
}

// cpuSeconds is the CPU time of a process: fields 14 and 15 of /proc/<pid>/stat, in hundredths of a second
// (proc(5)).
func cpuSeconds(t *testing.T, pid int) float64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// from the third field on
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
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
