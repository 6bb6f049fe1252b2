//go:build e2e

package localcluster_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/pkg/localcluster"
)

// A pod really runs on a real node, is found by its name, and can reach this machine.
func TestRealNode(t *testing.T) {
	dir := t.TempDir()
	probe := filepath.Join(dir, "probe.tar")
	image := localcluster.Image{
		Name: "registry.example.com/busybox:1", Files: map[string]string{"/busybox": "/bin/busybox"}, Entrypoint: []string{"/busybox"},
	}
	if err := image.Write(probe); err != nil {
		t.Fatal(err)
	}
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Attached: true, Nodes: -1, Schedulers: []string{localcluster.SchedulerNative},
		RealNode: true, Images: []string{probe}, Progress: testWriter{t},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		address := cluster.MachineAddress()
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
		mounts, err := os.ReadFile("/proc/mounts")
		if err != nil || strings.Contains(string(mounts), dir) {
			t.Errorf("mounts are left behind (%v):\n%s", err, mounts)
		}
		addresses, err := net.InterfaceAddrs()
		if err != nil || slices.ContainsFunc(addresses, func(a net.Addr) bool { return strings.HasPrefix(a.String(), address.String()+"/") }) {
			t.Errorf("the cable is still there (%v): %v", err, addresses)
		}
	}()
	defer func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "cluster", "logs", "real-node.log"))
			logs, _ := filepath.Glob(filepath.Join(cluster.PodLogs(), "*", "*", "*.log"))
			for _, l := range logs {
				text, _ := os.ReadFile(l)
				t.Logf("%s:\n%s", l, text)
			}
			t.Logf("the node's log:\n%s", log)
		}
	}()
	client := kubernetes.NewForConfigOrDie(cluster.RESTConfig())
	pods := client.CoreV1().Pods("default")
	pod := func(name string, command ...string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "probe"}},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Hostname: name, Subdomain: "probe",
				Containers: []corev1.Container{{
					Name: "probe", Image: image.Name, Command: append([]string{"/busybox"}, command...),
					TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				}},
			},
		}
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "probe"},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"app": "probe"},
			Ports: []corev1.ServicePort{{Port: 8080}},
		},
	}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the account default", func(ctx context.Context) (bool, string, error) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, "", nil
	})
	for _, p := range []*corev1.Pod{
		pod("server", "nc", "-ll", "-p", "8080", "-e", "/busybox", "echo", "hello"),
		pod("asker", "sh", "-c", "until /busybox nc server.probe 8080 | /busybox grep hello; do /busybox sleep 1; done"),
	} {
		if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the asker has its answer", func(ctx context.Context) (bool, string, error) {
		p, err := pods.Get(ctx, "asker", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return p.Status.Phase == corev1.PodSucceeded, fmt.Sprintf("%s %v", p.Status.Phase, p.Status.ContainerStatuses), nil
	})
}

func eventually(t *testing.T, what string, is func(context.Context) (bool, string, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 1*time.Minute)
	defer cancel()
	var last string
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		done, now, err := is(ctx)
		if ctx.Err() == nil {
			last = now
		}
		return done, err
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v (last: %s)", what, err, last)
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}
