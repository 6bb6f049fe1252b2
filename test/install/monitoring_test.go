//go:build e2e

package install

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/prometheus"
)

// reader of the metrics.
const reader = "prometheus"

// mayScrape checks that the metrics are for those who may read them.
func (a *admin) mayScrape() {
	a.kubectl("-n", system, "create", "serviceaccount", reader)
	a.kubectl("create", "clusterrolebinding", reader, "--clusterrole=trainingjob-metrics-reader",
		"--serviceaccount="+system+":"+reader)
	pod := &corev1.Pod{}
	if err := a.client.Get(a.t.Context(), client.ObjectKey{Namespace: system, Name: a.leader("")},
		pod); err != nil {
		a.t.Fatal(err)
	}
	// The certificate is self-signed; Prometheus is configured not to verify it, too.
	scraper := &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(ctx context.Context, account string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet,
			"https://"+pod.Status.PodIP+":8443/metrics", nil)
		if err != nil {
			return 0, err
		}
		if account != "" {
			token, err := a.token(ctx, account)
			if err != nil {
				return 0, err
			}
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := scraper.Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	for account, want := range map[string]int{"": 401, "default": 403, reader: 200} {
		a.until(fmt.Sprintf("the metrics answer %q with %d", account, want),
			func(ctx context.Context) (bool, string, error) {
				code, err := get(ctx, account)
				return code == want, fmt.Sprintf("%d, %v", code, err), nil
			})
	}
}

func (a *admin) token(ctx context.Context, account string) (string, error) {
	token := &authenticationv1.TokenRequest{}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: account}}
	err := a.client.SubResource("token").Create(ctx, sa, token)
	return token.Status.Token, err
}

// prometheus scrapes both endpoints of both operators, as docs/monitoring.md says.
func (a *admin) prometheus() *prometheus.Server {
	a.t.Helper()
	token, err := a.token(a.t.Context(), reader)
	if err != nil {
		a.t.Fatal(err)
	}
	dir := filepath.Join(a.dir, "prometheus")
	if err := os.Mkdir(dir, 0o755); err != nil {
		a.t.Fatal(err)
	}
	p, err := prometheus.Start(a.t.Context(), prometheus.Options{
		Dir: dir, Config: a.scrapeConfiguration(a.write("token", []byte(token)), a.endpoints()),
	})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			a.t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	if err := p.WaitForTargets(ctx, 4); err != nil {
		a.t.Fatal(err)
	}
	return p
}

// endpoints serves the addresses behind the Service of the metrics, as Prometheus' own discovery finds them,
// at the URL that it returns.
func (a *admin) endpoints() string {
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	const service = v1alpha1.OperatorName + "-metrics"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slices := &discoveryv1.EndpointSliceList{}
		if err := a.client.List(r.Context(), slices, client.InNamespace(system),
			client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		found := group{Targets: []string{}, Labels: map[string]string{"__meta_kubernetes_service_name": service}}
		for _, s := range slices.Items {
			for _, e := range s.Endpoints {
				address := net.JoinHostPort(e.Addresses[0], fmt.Sprint(*s.Ports[0].Port))
				found.Targets = append(found.Targets, address)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode([]group{found})
	}))
	a.t.Cleanup(server.Close)
	return server.URL
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(scrape_configs:.*?)```")

// scrapeConfiguration is the documented one with the shipped rules, but for the pace, for where this
// Prometheus, which is no pod, has its token, and for who finds its targets: Debian's cannot ask Kubernetes.
func (a *admin) scrapeConfiguration(token, endpoints string) []byte {
	a.t.Helper()
	page, err := os.ReadFile(filepath.Join(repository, "docs/monitoring.md"))
	if err != nil {
		a.t.Fatal(err)
	}
	block := yamlBlock.FindSubmatch(page)
	if block == nil {
		a.t.Fatal("docs/monitoring.md says no more how to scrape")
	}
	var documented struct {
		Jobs []map[string]any `json:"scrape_configs"`
	}
	if err := yaml.UnmarshalStrict(block[1], &documented); err != nil {
		a.t.Fatal(err)
	}
	rules, err := filepath.Abs(filepath.Join(repository, "deploy/monitoring/rules.yaml"))
	if err != nil {
		a.t.Fatal(err)
	}
	for i, job := range documented.Jobs {
		whole := maps.Clone(documented.Jobs[0]) // each is as the first but for what it says
		maps.Copy(whole, job)
		whole["authorization"] = map[string]any{"credentials_file": token}
		delete(whole, "kubernetes_sd_configs")
		whole["http_sd_configs"] = []map[string]any{{"url": endpoints, "refresh_interval": "1s"}}
		documented.Jobs[i] = whole
	}
	config, err := yaml.Marshal(map[string]any{
		"global": map[string]any{
			"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s",
		},
		"rule_files":     []string{rules},
		"scrape_configs": documented.Jobs,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return config
}

// shows checks that Prometheus has the job's numbers.
func (a *admin) shows(p *prometheus.Server, j training) {
	a.t.Helper()
	a.samples(p, fmt.Sprintf(`trainingjob_state{namespace="default",name=%q,state="Running"} == 1`, j.name))
	a.samples(p, fmt.Sprintf(`trainingjob_allocated_gpus{trainingjob=%q} == %d`, j.name, j.ranks))
	a.samples(p, fmt.Sprintf(`count(trainingjob_rank_info{trainingjob=%q}) == %d`, j.name, j.ranks))
	a.samples(p, `sum(trainingjob_operator_leading) == 1`)
	before := a.untilSaved(j, 0)
	step := a.samples(p, fmt.Sprintf(`trainingjob_current_step{trainingjob=%q} >= %d`, j.name, before))
	after := a.job(j, "has gone on", func(s v1alpha1.TrainingJobStatus) bool {
		return s.Progress != nil && float64(s.Progress.Step) >= step
	})
	a.t.Logf("step %d, then %.0f in Prometheus, then %d", before, step, after.Progress.Step)
}

// samples waits until an expression has a sample, and returns the first.
func (a *admin) samples(p *prometheus.Server, expression string) float64 {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	samples, err := p.WaitForSamples(ctx, expression, func(v model.Vector) string {
		if len(v) == 0 {
			return "no sample"
		}
		return ""
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return float64(samples[0].Value)
}

// alert waits until an alert of the shipped rules fires, or does not.
func (a *admin) alert(p *prometheus.Server, name string, state prometheus.AlertState, within time.Duration) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), within)
	defer cancel()
	if _, err := p.WaitForAlert(ctx, name, state); err != nil {
		a.t.Fatal(err)
	}
}

// firesForCareless has an alert fire for a trainer that begins at 0 after a restart, until its job is gone.
func (a *admin) firesForCareless(p *prometheus.Server) {
	a.t.Helper()
	const alert = "TrainingJobResumeIgnored"
	a.alert(p, alert, prometheus.Inactive, patience)
	j := training{"careless", 1}
	a.submit(j, "--ignore-resume")
	a.untilSaved(j, 0)
	a.kubectl("annotate", "tj", j.name, v1alpha1.AnnotationRestart+"=now")
	a.alert(p, alert, prometheus.Firing, patience)
	a.forget(j)
	a.alert(p, alert, prometheus.Inactive, patience)
}
