//go:build cluster

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// process is a running operator.
type process struct {
	cmd                             *exec.Cmd
	healthAt, metricsAt, profilesAt string
	reportsAt                       string
	mu                              sync.Mutex
	out                             bytes.Buffer
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

// start the operator with a token of its service account, and with more of a configuration.
func start(
	t *testing.T, binary string, cluster *localcluster.Cluster, c client.Client, more string,
) *process {
	t.Helper()
	dir := t.TempDir()
	addresses, release, err := harness.FreeAddresses(4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	p := &process{
		healthAt: addresses[0], metricsAt: addresses[1], reportsAt: addresses[2], profilesAt: addresses[3],
	}
	configuration := filepath.Join(dir, "config.yaml")
	write(t, configuration, fmt.Sprintf(`apiVersion: config.mlplatform.example.com/v1alpha1
kind: OperatorConfiguration
health: {bindAddress: %q}
metrics: {bindAddress: %q}
profiles: {bindAddress: %q}
reports: {bindAddress: %q, url: "https://%s", certificateDir: %q}
`+more, p.healthAt, p.metricsAt, p.profilesAt, p.reportsAt, p.reportsAt, certificates(t)))
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(asAccount(cluster.RESTConfig(), tokenOf(t, c, account)),
		kubeconfig); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(binary, "--config", configuration, "--kubeconfig", kubeconfig, "--zap-log-level",
		"debug")
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

// stop sends SIGTERM, as a kubelet does, and waits for the end.
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

// profiles checks that they are served.
func (p *process) profiles(t *testing.T) {
	if code, body := get(t.Context(), t, "http://"+p.profilesAt+"/debug/pprof/heap?debug=1", ""); code !=
		http.StatusOK || !strings.Contains(body, "heap profile") {
		t.Errorf("the profile of the memory: %d", code)
	}
}

// metrics checks that only those bound to trainingjob-metrics-reader may read them.
func (p *process) metrics(t *testing.T, c client.Client) {
	url := "https://" + p.metricsAt + "/metrics"
	if code, _ := get(t.Context(), t, url, ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	reader := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "prometheus",
		Namespace: defaultNamespace}}
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
		return code == http.StatusOK &&
				strings.Contains(body, `trainingjob_transitions_total{phase="Running",reason="GangRunning"} 3`),
			fmt.Sprint(code)
	})
	if code, body := get(t.Context(), t, url+"/jobs", ""); code != http.StatusUnauthorized {
		t.Errorf("the series of jobs without a token: %d %s", code, body)
	}
	code, body := get(t.Context(), t, url+"/jobs", token)
	if code != http.StatusOK || !strings.Contains(body, "trainingjob_jobs_left_out 0") {
		t.Errorf("the series of jobs: %d %s", code, body)
	}
}

// reports checks that a token must be bound to a pod. That the operator tells an unbound token from a
// forged one shows that it may create TokenReviews.
func (p *process) reports(t *testing.T, c client.Client) {
	bound := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{config.DefaultAudience}},
	}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: defaultNamespace}}
	if err := c.SubResource("token").Create(t.Context(), sa, bound); err != nil {
		t.Fatal(err)
	}
	for token, says := range map[string]string{"": "Authorization", "forged": "expired",
		bound.Status.Token: "not bound to a pod"} {
		code, body := request(t.Context(), t, http.MethodPost, "https://"+p.reportsAt+reportserver.Path,
			token)
		if code != http.StatusUnauthorized || !strings.Contains(body, says) {
			t.Errorf("got %d %q, want 401 with %q", code, body, says)
		}
	}
}

// certificates writes the report server's certificates into a directory.
func certificates(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certificates")
	if err := harness.WriteCertificate(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func metricsReader(reader *corev1.ServiceAccount) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole",
			Name: "trainingjob-metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: reader.Name,
			Namespace: reader.Namespace}},
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
		// a self-signed certificate
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
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
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))},
	}
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
