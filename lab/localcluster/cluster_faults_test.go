//go:build cluster

package localcluster_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func (s suite) stopAndStart(t *testing.T) {
	const name = "vc-scheduler"
	if err := s.cluster.StopProcess(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if p := s.process(t, name); p.Running || !p.Stopped {
		t.Errorf("after its stop: %+v", p)
	}
	if err := s.cluster.StartProcess(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if p := s.process(t, name); !p.Running || p.Stopped {
		t.Errorf("after its start: %+v", p)
	}
}

func (s suite) killedProcess(t *testing.T) {
	const name = "kube-scheduler"
	if err := syscall.Kill(s.process(t, name).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "status says that it is dead", func() (bool, error) {
		p := s.process(t, name)
		return !p.Running && !p.Stopped && !s.cluster.Status(t.Context()).Healthy(), nil
	})
	_, err := localcluster.Up(t.Context(), localcluster.Options{Dir: s.cluster.Dir()})
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("up on a cluster that is half dead: %v", err)
	}
	if err := s.cluster.StartProcess(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if status := s.cluster.Status(t.Context()); !status.Healthy() {
		t.Errorf("after its start: %+v", status)
	}
}

// A new KWOK waits until the leases of the one before have run out.
func (s suite) kwokRestart(t *testing.T) {
	for _, step := range []func(context.Context, string) error{s.cluster.StopProcess, s.cluster.StartProcess} {
		if err := step(t.Context(), "kwok"); err != nil {
			t.Fatal(err)
		}
	}
	pod := newPod("after-kwok", "1")
	s.create(t, pod)
	s.waitForPod(t, pod, "Running, with all nodes Ready", func(p *corev1.Pod) bool {
		if status := s.cluster.Status(t.Context()); !status.Healthy() {
			t.Fatalf("not all is well: %+v", status)
		}
		return p.Status.Phase == corev1.PodRunning
	})
}

func (s suite) killedNode(t *testing.T) {
	node := func() *corev1.Node {
		node := &corev1.Node{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: "node-3"}, node); err != nil {
			t.Fatal(err)
		}
		return node
	}
	ready := func() corev1.ConditionStatus {
		for _, condition := range node().Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status
			}
		}
		return ""
	}
	pod, elsewhere := newPod("on-the-killed-node", "1"), newPod("on-a-living-node", "1")
	for name, p := range map[string]*corev1.Pod{"node-3": pod, "node-2": elsewhere} {
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: name}
		s.create(t, p)
		s.waitForPod(t, p, "Running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	}
	killed := time.Now()
	if err := s.cluster.KillNode(t.Context(), "node-3"); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "Ready is Unknown", func() (bool, error) { return ready() == corev1.ConditionUnknown, nil })
	t.Logf("NotReady after %s", time.Since(killed).Round(time.Second))
	s.eventually(t, "it is tainted", func() (bool, error) { return len(node().Spec.Taints) > 0, nil })
	for _, p := range []*corev1.Pod{pod, elsewhere} {
		if err := s.client.Delete(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	s.waitUntilGone(t, elsewhere) // KWOK has looked at the other one before
	s.waitForPod(t, pod, "Terminating, without a kubelet to end it", func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil
	})
	if err := s.cluster.ReviveNode(t.Context(), "node-3"); err != nil {
		t.Fatal(err)
	}
	if ready() != corev1.ConditionTrue {
		t.Error("the node is not Ready after its revival")
	}
	s.waitUntilGone(t, pod)
}

func (s suite) waitUntilGone(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.eventually(t, pod.Name+" is gone", func() (bool, error) {
		err := s.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
