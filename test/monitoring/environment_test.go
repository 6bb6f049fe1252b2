//go:build cluster

package monitoring

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/prometheus"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	root = "../.."
	// namespace of the jobs, and of the operator.
	namespace, operatorNamespace = "team-a", "trainingjob-system"
	// serviceAccount of Prometheus, in the operator's namespace.
	serviceAccount = "prometheus"
	// metricsReader is the ClusterRole that ships for it.
	metricsReader = "trainingjob-metrics-reader"
)

// environment is a cluster with the real operator, and a real Prometheus that scrapes it.
type environment struct {
	*harness.Namespace
	*history
	prometheus *prometheus.Server
	operator   *harness.Process
	dir        string
}

// startEnvironment ends with the test.
func startEnvironment(t *testing.T) *environment {
	t.Helper()
	e := &environment{dir: t.TempDir()}
	cluster, err := harness.Start(t.Context(), harness.Options{
		Root: root, Schedulers: []string{localcluster.SchedulerVolcano}, Nodes: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	e.startTrainers(t, cluster)
	e.operator, err = cluster.NewProcess(t.Context(), e.dir, func(*config.OperatorConfiguration) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.operator.Release)
	if err := e.operator.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.operator.Kill()
		if t.Failed() {
			e.operator.WriteLog(os.Stderr)
		}
	})
	e.Namespace = cluster.Namespace(t, v1alpha1.SchedulerVolcano, namespace)
	e.history = record(t, cluster, namespace)
	e.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})
	e.startPrometheus(e.allowPrometheus())
	return e
}

func (e *environment) startTrainers(t *testing.T, c *harness.Cluster) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- simtrainer.Run(ctx, c.RESTConfig(), simtrainer.Options{StateFile: filepath.Join(e.dir, "volumes")})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// allowPrometheus gives its service account the role that docs/monitoring.md names, and returns the file with
// its token.
func (e *environment) allowPrometheus() (tokenFile string) {
	e.T.Helper()
	e.Create(&corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: serviceAccount},
	})
	for _, o := range objects(e.T, root+"/deploy/operator/users.yaml") {
		if o.GetName() == metricsReader {
			e.Create(o)
		}
	}
	e.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: serviceAccount},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: metricsReader},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: operatorNamespace, Name: serviceAccount}},
	})
	token, err := e.Kube.CoreV1().ServiceAccounts(operatorNamespace).CreateToken(e.T.Context(), serviceAccount,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		e.T.Fatal(err)
	}
	tokenFile = filepath.Join(e.dir, "token")
	if err := os.WriteFile(tokenFile, []byte(token.Status.Token), 0o600); err != nil {
		e.T.Fatal(err)
	}
	return tokenFile
}

// startPrometheus with the scrape_configs of docs/monitoring.md, the rules that ship, and two exporters of
// DCGM that are scraped in the two usual ways. Debian's Prometheus is built without kubernetes_sd_configs,
// and the operator is no pod here, so its address is a static one.
func (e *environment) startPrometheus(tokenFile string) {
	e.T.Helper()
	rules, err := filepath.Abs(shipped + "rules.yaml")
	if err != nil {
		e.T.Fatal(err)
	}
	scrapes := documented(e.T)
	for _, scrape := range scrapes {
		scrape["authorization"] = map[string]any{"credentials_file": tokenFile}
		delete(scrape, "kubernetes_sd_configs")
		delete(scrape, "relabel_configs") // which choose among what was discovered
		scrape["static_configs"] = []any{map[string]any{
			"targets": []string{e.operator.Config.Metrics.BindAddress},
		}}
	}
	for pod, honor := range map[string]bool{"bert-worker-0": false, "bert-worker-1": true} {
		scrapes = append(scrapes, map[string]any{
			"job_name": "dcgm-" + pod, "honor_labels": honor,
			"static_configs": []any{map[string]any{
				"targets": []string{exporter(e.T, pod)},
				"labels":  map[string]string{"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-1"},
			}},
		})
	}
	config, err := yaml.Marshal(map[string]any{
		"global": map[string]any{
			"scrape_interval": interval.String(), "scrape_timeout": interval.String(),
			"evaluation_interval": interval.String(),
		},
		"rule_files": []string{rules}, "scrape_configs": scrapes,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	dir := filepath.Join(e.dir, "prometheus")
	if err := os.Mkdir(dir, 0o700); err != nil {
		e.T.Fatal(err)
	}
	e.prometheus, err = prometheus.Start(e.T.Context(), prometheus.Options{Dir: dir, Config: config})
	if err != nil {
		e.T.Fatal(err)
	}
	e.T.Cleanup(func() {
		if err := e.prometheus.Stop(context.Background()); err != nil {
			e.T.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(e.T.Context(), patience)
	defer cancel()
	if err := e.prometheus.WaitForTargets(ctx, len(scrapes)); err != nil {
		e.T.Fatal(err)
	}
}

// documented are the scrape_configs of docs/monitoring.md.
func documented(t *testing.T) []map[string]any {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, found := strings.Cut(block, "```")
	var file struct {
		ScrapeConfigs []map[string]any `json:"scrape_configs"`
	}
	if err := yaml.UnmarshalStrict([]byte(block), &file); err != nil || !found || len(file.ScrapeConfigs) != 2 {
		t.Fatalf("the configuration of docs/monitoring.md: %v\n%s", err, block)
	}
	return file.ScrapeConfigs
}

// exporter serves what NVIDIA's exporter says of a pod with two GPUs, and of a GPU that no pod has.
func exporter(t *testing.T, pod string) (address string) {
	t.Helper()
	const line = `DCGM_FI_DEV_GPU_UTIL{gpu="%d",UUID="GPU-%s-%d",device="nvidia%d",modelName="NVIDIA H100",` +
		"Hostname=\"node\",container=%q,namespace=%q,pod=%q} %v\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i, use := range gpuUse[pod] {
			fmt.Fprintf(w, line, i, pod, i, i, "trainer", namespace, pod, use)
		}
		fmt.Fprintf(w, line, 7, pod, 7, 7, "", "", "", 3)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// objects of a file.
func objects(t *testing.T, path string) (all []*unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range bytes.Split(data, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(part, o); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, o)
	}
	return all
}
