//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// writes many lines at once, what trainers write besides, and then a line each second.
const writes = `i=0
while [ $i -lt 300 ]; do echo "rank $RANK line $i"; i=$((i+1)); done
/busybox printf '%040000d\n' 7
/busybox printf 'loss 2\rloss 1\n\033[32mgreen\033[0m \377 <img src=x onerror=alert(1)>\n\n'
while [ $i -lt 312 ]; do echo "rank $RANK line $i"; i=$((i+1)); /busybox sleep 1; done
/busybox printf 'the end, without a line break'`

// TestLogs: what the kubelet has of a rank, the server answers as kubectl prints it, and the board's page
// shows, and goes on with while it is written, without a line missing or twice.
func TestLogs(t *testing.T) {
	env.logIfFailed(t, "logs")
	t.Cleanup(func() { env.clear(t) })
	reader := env.newLogReader(t)
	j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, "logs")
	job := j.gang(busyboxImage, []string{"/busybox", "sh", "-c", writes})
	if err := env.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	j.until("runs", func(job *v1alpha1.TrainingJob) bool { return job.Status.Phase == v1alpha1.PhaseRunning })
	const rank = "?role=Worker&index=1"
	page := reader.get("/board/clusters/default/namespaces/default/jobs/logs/logs" + rank + "&lines=5000")
	shown := linesOfPage(page)
	stream := regexp.MustCompile(`data-stream="([^"]+)"`).FindStringSubmatch(page)
	if stream == nil {
		t.Fatalf("the page has no stream:\n%s", page)
	}
	followed := reader.follow(html.UnescapeString(stream[1]))
	if len(shown) == 0 || len(followed) == 0 {
		t.Errorf("%d lines are shown, %d came later", len(shown), len(followed))
	}
	j.until("has succeeded", func(job *v1alpha1.TrainingJob) bool {
		return job.Status.Phase == v1alpha1.PhaseSucceeded
	})
	for index := range gpus {
		want := reader.kubectl(fmt.Sprintf("logs-worker-%d", index))
		got := reader.get(fmt.Sprintf(
			"/api/v1/clusters/default/namespaces/default/trainingjobs/logs/logs?role=Worker&index=%d", index))
		if got != want || !strings.HasSuffix(want, "without a line break") {
			t.Errorf("rank %d: the server answers %d bytes, kubectl %d, which end with %q", index, len(got), len(want),
				want[max(0, len(want)-100):])
		}
	}
	want := slices.Collect(strings.SplitSeq(reader.kubectl("logs-worker-1"), "\n"))
	for i, line := range slices.Concat(shown, followed) {
		if i >= len(want) || !sameLine(line, want[i]) {
			t.Fatalf("line %d is %.200q; kubectl has %.200q", i, line, want[min(i, len(want)-1)])
		}
	}
	if n := len(shown) + len(followed); n != len(want) {
		t.Errorf("%d lines were seen, of %d", n, len(want))
	}
}

// sameLine reports whether a line of the board's is what was written: but for what is no text, and cut where
// it is very long.
func sameLine(shown, written string) bool {
	if strings.HasPrefix(written, "rank ") || strings.HasPrefix(written, "the end") || written == "" {
		return shown == written
	}
	switch {
	case strings.HasPrefix(written, "0000"):
		return len(shown) > 1000 && strings.HasPrefix(shown, "0000")
	case strings.HasPrefix(written, "loss"):
		return strings.HasSuffix(shown, "loss 1")
	}
	return strings.Contains(shown, "green") && strings.HasSuffix(shown, "<img src=x onerror=alert(1)>")
}

// linesOfPage that the page of a log shows.
func linesOfPage(page string) (all []string) {
	_, log, _ := strings.Cut(page, `<pre id="log"`)
	log, _, _ = strings.Cut(log, "</pre>")
	for _, line := range strings.SplitAfter(log, "</span>") {
		if _, text, is := strings.Cut(line, `<span class="line">`); is {
			text, _, _ = strings.Cut(text, " <em>(")
			all = append(all, html.UnescapeString(strings.TrimSuffix(strings.TrimSuffix(text, "</span>"), "\n")))
		}
	}
	return all
}

// logReader requests logs from a server next to the cluster, as a user who may only read logs. The server has
// an administrator's rights; test/server tests it with its own.
type logReader struct {
	*environment
	t         *testing.T
	at, token string
}

func (e *environment) newLogReader(t *testing.T) *logReader {
	t.Helper()
	r := &logReader{environment: e, t: t}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "log-reader"}}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account.Name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"trainingjobs"},
				Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}, Verbs: []string{"get"}},
		},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account.Name}},
	}
	for _, o := range []client.Object{account, role, binding} {
		if err := e.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"trainingjob-server"}},
	}
	if err := e.client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	r.token = request.Status.Token
	r.serve()
	return r
}

// serve the API and the board on this machine.
func (r *logReader) serve() {
	r.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		r.t.Fatal(err)
	}
	dir := r.t.TempDir()
	config := filepath.Join(dir, "server.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: config.mlplatform.example.com/v1alpha1
kind: ServerConfiguration
listen: {bindAddress: %q}
database: {url: "sqlite://%s/history.db"}
metrics: {bindAddress: "0"}
health: {bindAddress: "0"}
access: {wideImpersonation: true}
`, address, dir), 0o600); err != nil {
		r.t.Fatal(err)
	}
	var log bytes.Buffer
	server := exec.Command(filepath.Join(r.dir, "server"), "--kubeconfig="+r.cluster.Kubeconfig(),
		"--config="+config)
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // which says that it was killed
		if r.t.Failed() {
			r.t.Logf("the server's log:\n%s", log.String())
		}
	})
	r.at = "http://" + address
	var last error
	err = wait.PollUntilContextTimeout(r.t.Context(), 100*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			_, last = r.ask("/board/clusters/default/namespaces/default/jobs/none", "application/json")
			return last != nil && strings.HasPrefix(last.Error(), "404"), nil
		})
	if err != nil {
		r.t.Fatalf("waiting until the server acts for its callers: %v; last: %v", err, last)
	}
}

// ask for a path; the caller closes the answer.
func (r *logReader) ask(path, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.at+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+r.token)
	request.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(request)
	if err == nil && answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		err = errors.Join(fmt.Errorf("%s: %s", answer.Status, text), answer.Body.Close())
	}
	return answer, err
}

func (r *logReader) get(path string) string {
	r.t.Helper()
	answer, err := r.ask(path, "text/html, text/plain;q=0.9")
	if err != nil {
		r.t.Fatalf("asking for %s: %v", path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatalf("asking for %s: %v", path, err)
	}
	return string(text)
}

// follow the stream of a log until the container has ended.
func (r *logReader) follow(path string) (all []string) {
	r.t.Helper()
	answer, err := r.ask(path, "text/event-stream")
	if err != nil {
		r.t.Fatalf("following %s: %v", path, err)
	}
	defer answer.Body.Close()
	event := ""
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			r.t.Fatalf("following %s, after %d lines: %v", path, len(all), err)
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if key == "event" {
			event = value
		}
		if key != "data" {
			continue
		}
		var page struct{ Lines []struct{ Text string } }
		if err := json.Unmarshal([]byte(value), &page); err != nil || event == "problem" {
			r.t.Fatalf("following %s: %s %s, %v", path, event, value, err)
		}
		for _, line := range page.Lines {
			all = append(all, line.Text)
		}
		if event == "end" {
			return all
		}
	}
}

// kubectl logs of a pod, whole.
func (r *logReader) kubectl(pod string) string {
	r.t.Helper()
	logs := exec.CommandContext(r.t.Context(), r.cluster.Kubectl(), "--kubeconfig="+r.cluster.Kubeconfig(),
		"logs", "--namespace="+namespace, pod)
	text, err := logs.Output()
	if err != nil {
		r.t.Fatalf("kubectl logs %s: %v", pod, err)
	}
	return string(text)
}
