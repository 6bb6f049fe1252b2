//go:build e2e

package install

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

const (
	system       = "trainingjob-system"
	trainerImage = "registry.example.com/gotrainer:e2e"
	repository   = "../.."
	// patience bounds the wait for one condition.
	patience = 4 * time.Minute
)

// admin installs with kubectl and observes the result.
type admin struct {
	t       *testing.T
	client  client.Client
	cluster *localcluster.Cluster
	dir     string
}

// TestInstall follows the README with a release of this tree.
func TestInstall(t *testing.T) {
	a := newAdmin(t)
	a.kubectl("apply", "--server-side", "-k", a.overlay())
	a.createCertificate()
	a.until("both operators are ready", func(ctx context.Context) (bool, string, error) {
		d := &appsv1.Deployment{}
		err := a.client.Get(ctx, client.ObjectKey{Namespace: system, Name: v1alpha1.OperatorName}, d)
		return d.Status.ReadyReplicas == 2, fmt.Sprintf("%+v", d.Status), err
	})
	a.mayUse()
	a.train()
	a.scrape()
}

func newAdmin(t *testing.T) *admin {
	a := &admin{t: t, dir: t.TempDir()}
	archives := append(a.release(), a.trainer())
	var err error
	a.cluster, err = localcluster.Up(t.Context(), localcluster.Options{
		Dir: filepath.Join(a.dir, "cluster"), Attached: true, Nodes: -1, GPUsPerNode: 2, RealNode: true,
		Images: archives, Schedulers: []string{localcluster.SchedulerNative}, Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			a.tell()
		}
	})
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	if a.client, err = client.New(a.cluster.RESTConfig(), client.Options{Scheme: s}); err != nil {
		t.Fatal(err)
	}
	return a
}

// mayUse checks that editors of a namespace may use TrainingJobs there but not write their status, and that
// viewers may read them.
func (a *admin) mayUse() {
	a.kubectl("create", "rolebinding", "jane", "--clusterrole=edit", "--user=jane")
	a.kubectl("create", "rolebinding", "joe", "--clusterrole=view", "--user=joe")
	for _, q := range []struct {
		user, verb, resource string
		may                  bool
	}{
		{"jane", "create", "trainingjobs", true},
		{"jane", "patch", "trainingjobs/scale", true},
		{"jane", "patch", "trainingjobs/status", false},
		{"joe", "watch", "trainingjobs", true},
		{"joe", "create", "trainingjobs", false},
	} {
		want := "no"
		if q.may {
			want = "yes"
		}
		// A controller aggregates the roles after a moment.
		a.until(fmt.Sprintf("%s may %s %s: %s", q.user, q.verb, q.resource, want),
			func(ctx context.Context) (bool, string, error) {
				args := []string{"auth", "can-i", q.verb, q.resource, "--as", q.user}
				resource, sub, ok := strings.Cut(q.resource, "/")
				if ok {
					args = []string{"auth", "can-i", q.verb, resource, "--subresource", sub, "--as", q.user}
				}
				said, _ := a.command(ctx, args...).Output() // it exits with 1 if the answer is no
				return strings.TrimSpace(string(said)) == want, string(said), nil
			})
	}
}

// train a gang while the leading operator is deleted: the other takes over and receives the reports, and the
// gang is not disturbed.
func (a *admin) train() {
	disk := filepath.Join(a.dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		a.t.Fatal(err)
	}
	job := filepath.Join(a.dir, "job.yaml")
	if err := os.WriteFile(job, []byte(strings.NewReplacer("$DISK", disk, "$IMAGE",
		trainerImage).Replace(training)), 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.until("the account default is there", func(ctx context.Context) (bool, string, error) {
		err := a.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, "", client.IgnoreNotFound(err)
	})
	a.kubectl("apply", "-f", job)
	a.job("has reported a checkpoint", func(s v1alpha1.TrainingJobStatus) bool {
		return s.Phase == v1alpha1.PhaseRunning && s.Progress != nil && s.Checkpoint != nil &&
			s.Checkpoint.Latest != nil
	})
	first := a.leader("")
	a.kubectl("-n", system, "delete", "pod", first, "--wait=false")
	second := a.leader(first)
	before := a.job("is there", func(v1alpha1.TrainingJobStatus) bool { return true })
	after := a.job("has reported another checkpoint, to the second leader",
		func(s v1alpha1.TrainingJobStatus) bool {
			return s.Checkpoint.Latest.Step > before.Checkpoint.Latest.Step
		})
	if second == first || after.Attempt != 1 || after.Restarts+after.Preemptions > 0 {
		a.t.Errorf("a change of leader from %s to %s touched the gang: %+v", first, second, after)
	}
	a.kubectl("delete", "tj", "bert", "--wait=true")
	a.until("its pods are gone", func(ctx context.Context) (bool, string, error) {
		pods := &corev1.PodList{}
		err := a.client.List(ctx, pods, client.InNamespace("default"), client.HasLabels{v1alpha1.LabelJobName})
		return len(pods.Items) == 0, fmt.Sprint(len(pods.Items)), err
	})
}

// training of two ranks that lasts long enough.
const training = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: bert}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: $DISK}
  claimRef: {namespace: default, name: bert-checkpoints}
---
apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata: {name: bert, namespace: default}
spec:
  framework: pytorch
  image: $IMAGE
  command: [/gotrainer, --steps, "20000", --step-seconds, "0.5", --log, /checkpoints/losses.jsonl]
  replicas: 2
  resources: {requests: {nvidia.com/gpu: "1", cpu: 50m, memory: 64Mi}}
  checkpoint: {interval: 3, pvc: {storageClassName: "", size: 1Gi}}
`

// leader returns the holder of the lease, once it differs from the former one.
func (a *admin) leader(former string) (name string) {
	a.t.Helper()
	a.until("there is a leader after "+former, func(ctx context.Context) (bool, string, error) {
		leases := &coordinationv1.LeaseList{}
		if err := a.client.List(ctx, leases, client.InNamespace(system)); err != nil || len(leases.Items) != 1 {
			return false, fmt.Sprintf("%d leases", len(leases.Items)), err
		}
		if holder := leases.Items[0].Spec.HolderIdentity; holder != nil {
			name, _, _ = strings.Cut(*holder, "_")
		}
		return name != "" && name != former, name, nil
	})
	return name
}

// scrape the metrics as Prometheus does: it succeeds with a token whose account may read them and fails
// without.
func (a *admin) scrape() {
	a.kubectl("-n", system, "create", "serviceaccount", "prometheus")
	a.kubectl("create", "clusterrolebinding", "prometheus", "--clusterrole=trainingjob-metrics-reader",
		"--serviceaccount="+system+":prometheus")
	pod := &corev1.Pod{}
	if err := a.client.Get(a.t.Context(), client.ObjectKey{Namespace: system, Name: a.leader("")},
		pod); err != nil {
		a.t.Fatal(err)
	}
	// The certificate is self-signed; Prometheus is configured not to verify it, too.
	prometheus := &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(ctx context.Context, account string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet,
			"https://"+pod.Status.PodIP+":8443/metrics", nil)
		if err != nil {
			return 0, err
		}
		if account != "" {
			token := &authenticationv1.TokenRequest{}
			sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: account}}
			if err := a.client.SubResource("token").Create(ctx, sa, token); err != nil {
				return 0, err
			}
			req.Header.Set("Authorization", "Bearer "+token.Status.Token)
		}
		resp, err := prometheus.Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	for account, want := range map[string]int{"": 401, "default": 403, "prometheus": 200} {
		a.until(fmt.Sprintf("the metrics answer %q with %d", account, want),
			func(ctx context.Context) (bool, string, error) {
				code, err := get(ctx, account)
				return code == want, fmt.Sprintf("%d, %v", code, err), nil
			})
	}
}

// job returns bert once its status is as wanted.
func (a *admin) job(what string, is func(v1alpha1.TrainingJobStatus) bool) v1alpha1.TrainingJobStatus {
	a.t.Helper()
	job := &v1alpha1.TrainingJob{}
	a.until("the job "+what, func(ctx context.Context) (bool, string, error) {
		err := a.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "bert"}, job)
		return err == nil && is(job.Status), fmt.Sprintf("%+v", job.Status), err
	})
	return job.Status
}

func (a *admin) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, a.cluster.Kubectl(),
		append([]string{"--kubeconfig", a.cluster.Kubeconfig()}, args...)...)
}

func (a *admin) kubectl(args ...string) {
	a.t.Helper()
	if out, err := a.command(a.t.Context(), args...).CombinedOutput(); err != nil {
		a.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (a *admin) until(what string, is func(context.Context) (done bool, last string, err error)) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
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
		a.t.Fatalf("waiting until %s: %v; last: %s", what, err, last)
	}
}

// tell logs the state of the cluster for a failed test.
func (a *admin) tell() {
	for _, args := range [][]string{{"get", "tj,pods,events", "-A"}, {"-n", system, "describe", "pods"}} {
		out, _ := a.command(context.Background(), args...).CombinedOutput()
		a.t.Logf("kubectl %v:\n%s", args, out)
	}
	logs, _ := filepath.Glob(filepath.Join(a.cluster.PodLogs(), "*", "*", "*.log"))
	for _, l := range logs {
		text, _ := os.ReadFile(l)
		a.t.Logf("%s:\n%s", l, text[max(0, len(text)-32<<10):])
	}
}
