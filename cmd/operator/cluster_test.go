//go:build cluster

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
)

const account = "trainingjob-operator"

// TestInstalledOperatorIsAllowedWhatItDoes applies deploy/ as a user would, runs the binary with exactly the rights of its
// service account, and lets gangs live through what an operator writes. Nothing may be forbidden.
func TestInstalledOperatorIsAllowedWhatItDoes(t *testing.T) {
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: t.TempDir() + "/cluster", Attached: true, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	kubectl(t, cluster, "apply", "--server-side", "-f", "../../deploy/crd")
	kubectl(t, cluster, "apply", "--server-side", "-k", "../../deploy/operator")

	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "TrainingJobs are served", func(ctx context.Context) (bool, string) {
		err := c.List(ctx, &v1alpha1.TrainingJobList{})
		return err == nil, fmt.Sprint(err)
	})
	o := start(t, cluster, c)
	o.ready(t)
	for _, scheduler := range []v1alpha1.SchedulerName{v1alpha1.SchedulerVolcano, v1alpha1.SchedulerNative, v1alpha1.SchedulerCoscheduling} {
		t.Run(string(scheduler), func(t *testing.T) { lives(t, c, scheduler) })
	}
	t.Run("the leader holds a lease", func(t *testing.T) {
		lease := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), types.NamespacedName{Namespace: defaultNamespace, Name: leaseName}, lease); err != nil {
			t.Fatal(err)
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			t.Errorf("got %+v", lease.Spec)
		}
	})
	t.Run("metrics are for those who may read them", func(t *testing.T) { o.metrics(t, c) })
	t.Run("reports are for ranks", func(t *testing.T) { o.reports(t, c) })
	o.stop(t)
	t.Run("the lease is released", func(t *testing.T) {
		lease := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), types.NamespacedName{Namespace: defaultNamespace, Name: leaseName}, lease); err != nil {
			t.Fatal(err)
		}
		if lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
			t.Errorf("the next leader has to wait for %s", *lease.Spec.HolderIdentity)
		}
	})
	log := o.log()
	if m := regexp.MustCompile(`(?i).*(forbidden|unauthorized|"level":"error").*`).FindAllString(log, 5); len(m) > 0 {
		t.Errorf("the log has:\n%s", strings.Join(m, "\n"))
	}
}

// lives takes a gang through creation, a change of the group, suspension, resumption, its end and its time to live.
func lives(t *testing.T, c client.Client, scheduler v1alpha1.SchedulerName) {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "life-" + string(scheduler), Namespace: "default"},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "trainer", Command: []string{"sleep", "3"}, Replicas: new(int32(40)),
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}},
			RunPolicy: v1alpha1.RunPolicy{TTLSecondsAfterFinished: new(int32(1))},
		},
	}
	job.Spec.RunPolicy.SchedulingPolicy.Scheduler = scheduler
	if scheduler == v1alpha1.SchedulerVolcano {
		job.Spec.RunPolicy.SchedulingPolicy.Queue = "default"
	}
	if err := c.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	reaches(t, c, job, v1alpha1.PhaseQueued) // 40 ranks have no room on 32 GPUs
	if scheduler == v1alpha1.SchedulerVolcano {
		change(t, c, job, func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.Queue = "" }) // an apply
	}
	change(t, c, job, func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = new(true) })
	reaches(t, c, job, v1alpha1.PhaseSuspended)
	change(t, c, job, func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend, j.Spec.Replicas = nil, new(int32(4)) })
	reaches(t, c, job, v1alpha1.PhaseRunning)
	eventually(t, "the finished job is deleted", func(ctx context.Context) (bool, string) {
		err := c.Get(ctx, client.ObjectKeyFromObject(job), job)
		return client.IgnoreNotFound(err) == nil && err != nil, string(job.Status.Phase)
	})
}

func change(t *testing.T, c client.Client, job *v1alpha1.TrainingJob, do func(*v1alpha1.TrainingJob)) {
	t.Helper()
	before := job.DeepCopy()
	do(job)
	if err := c.Patch(t.Context(), job, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func reaches(t *testing.T, c client.Client, job *v1alpha1.TrainingJob, phase v1alpha1.Phase) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %s", job.Name, phase), func(ctx context.Context) (bool, string) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err.Error()
		}
		return job.Status.Phase == phase, fmt.Sprintf("%s: %s", job.Status.Phase, job.Status.Message)
	})
}

func eventually(t *testing.T, what string, is func(context.Context) (bool, string)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 120*time.Second, true, func(ctx context.Context) (bool, error) {
		var ok bool
		ok, last = is(ctx)
		return ok, nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v; last: %s", what, err, last)
	}
}

// process is the operator's binary.
type process struct {
	cmd                 *exec.Cmd
	healthAt, metricsAt string
	reportsAt           string
	mu                  sync.Mutex
	out                 bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// start builds the operator and runs it with a token of its service account.
func start(t *testing.T, cluster *localcluster.Cluster, c client.Client) *process {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "operator")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the operator: %v\n%s", err, out)
	}
	p := &process{healthAt: freeAddress(t), metricsAt: freeAddress(t), reportsAt: freeAddress(t)}
	configuration := filepath.Join(dir, "config.yaml")
	write(t, configuration, fmt.Sprintf(`apiVersion: config.mlplatform.example.com/v1alpha1
kind: OperatorConfiguration
health: {bindAddress: %q}
metrics: {bindAddress: %q}
reports: {bindAddress: %q, url: "https://%s", certificateDir: %q}
`, p.healthAt, p.metricsAt, p.reportsAt, p.reportsAt, certificates(t)))
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(asAccount(cluster.RESTConfig(), tokenOf(t, c, account)), kubeconfig); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(binary, "--config", configuration, "--kubeconfig", kubeconfig, "--zap-log-level", "debug")
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("the operator's log:\n%s", p.log())
		}
	})
	return p
}

// stop asks the operator to end, as a kubelet does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the operator ended with %v", err)
	}
}

func (p *process) ready(t *testing.T) {
	t.Helper()
	eventually(t, "the operator is ready", func(ctx context.Context) (bool, string) {
		code, body := get(ctx, t, "http://"+p.healthAt+"/readyz", "")
		return code == http.StatusOK, body
	})
}

// metrics: nobody without a token, nobody without the right, whoever is bound to trainingjob-metrics-reader.
func (p *process) metrics(t *testing.T, c client.Client) {
	url := "https://" + p.metricsAt + "/metrics"
	if code, _ := get(t.Context(), t, url, ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	reader := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "prometheus", Namespace: defaultNamespace}}
	if err := c.Create(t.Context(), reader); err != nil {
		t.Fatal(err)
	}
	token := tokenOf(t, c, reader.Name)
	if code, _ := get(t.Context(), t, url, token); code != http.StatusForbidden {
		t.Errorf("without the right: %d", code)
	}
	if err := c.Create(t.Context(), metricsReader(reader)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the metrics are served", func(ctx context.Context) (bool, string) {
		code, body := get(ctx, t, url, token)
		return code == http.StatusOK && strings.Contains(body, `trainingjob_transitions_total{phase="Running",reason="GangRunning"} 3`), fmt.Sprint(code)
	})
}

// reports: nobody without a token, and no token that is bound to no pod. That the second is told from a forged one shows that the
// operator may ask the API server.
func (p *process) reports(t *testing.T, c client.Client) {
	bound := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{config.DefaultAudience}}}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: defaultNamespace}}
	if err := c.SubResource("token").Create(t.Context(), sa, bound); err != nil {
		t.Fatal(err)
	}
	for token, says := range map[string]string{"": "Authorization", "forged": "expired", bound.Status.Token: "bound to no pod"} {
		code, body := request(t.Context(), t, http.MethodPost, "https://"+p.reportsAt+reportserver.Path, token)
		if code != http.StatusUnauthorized || !strings.Contains(body, says) {
			t.Errorf("got %d %q, want 401 with %q", code, body, says)
		}
	}
}

// certificates of the report server, in a directory.
func certificates(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tls.crt"), string(certificate))
	write(t, filepath.Join(dir, "tls.key"), string(key))
	write(t, filepath.Join(dir, "ca.crt"), string(certificate))
	return dir
}

func metricsReader(reader *corev1.ServiceAccount) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "trainingjob-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: reader.Name, Namespace: reader.Namespace}},
	}
}

func get(ctx context.Context, t *testing.T, url, token string) (int, string) {
	t.Helper()
	return request(ctx, t, http.MethodGet, url, token)
}

func request(ctx context.Context, t *testing.T, method, url, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	insecure := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // a self-signed certificate
	}}
	resp, err := insecure.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

func tokenOf(t *testing.T, c client.Client, name string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: defaultNamespace}}
	if err := c.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func asAccount(admin *rest.Config, token string) clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{
		Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile,
	}
	c.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "a"}
	c.CurrentContext = "x"
	return *c
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func kubectl(t *testing.T, cluster *localcluster.Cluster, args ...string) {
	t.Helper()
	cmd := exec.Command(cluster.Kubectl(), append([]string{"--kubeconfig", cluster.Kubeconfig()}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
