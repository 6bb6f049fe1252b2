package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

var (
	update = flag.Bool("update", false, "write the golden files")
	noon   = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
)

// played is the result of a command.
type played struct {
	code        int
	stdout, err string
}

// play a command at noon.
func play(t *testing.T, args []string) played {
	t.Helper()
	var out, errs bytes.Buffer
	code := runAt(t.Context(), args, streams{strings.NewReader(""), &out, &errs},
		clocktesting.NewFakePassiveClock(noon))
	return played{code, out.String(), errs.String()}
}

// golden compares text with a file, and limits it to the width of a terminal.
func golden(t *testing.T, name, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if n := utf8.RuneCountInString(line); n > columns {
			t.Errorf("%d columns, more than %d: %s", n, columns, line)
		}
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// TestTextOfJobs: explain and timeline print each situation of a job in 80 columns.
func TestTextOfJobs(t *testing.T) {
	for file, job := range map[string]string{
		"quota": "queue-full", "dry-run": "urgent", "failed": "crashes", "draining": "leaves",
		"restarting": "again", "unseen": "unseen", "hung": "bert", "starts": "llama", "unknown-start": "mixtral",
		"not-calibrated": "llama", "trains": "trains",
		"rehearsal": "gpt-rehearsal", "rehearsed": "bert-rehearsal",
		"reserved": "llama", "lapsed": "llama", "held": "small", "lent": "small", "other-nodes": "small",
	} {
		s := serve(t, "jobs/"+file+".yaml")
		for _, command := range []string{"explain", "timeline", "when"} {
			t.Run(command+" "+file, func(t *testing.T) {
				got := play(t, s.args(command, job))
				if got.code != 0 || got.err != "" {
					t.Fatalf("%+v", got)
				}
				golden(t, command+"/"+file+".txt", got.stdout)
			})
		}
	}
}

// TestTextOfQueues: the table, and one queue with its jobs.
func TestTextOfQueues(t *testing.T) {
	s := serve(t, "cluster.yaml")
	for name, args := range map[string][]string{
		"all":           {"queues"},
		"everywhere":    {"queues", "-A"},
		"one":           {"queues", "research"},
		"cluster-queue": {"queues", "clusterqueue/team-a"},
		"two-of-a-name": {"queues", "main", "-A"},
		"quota":         {"queues", "resourcequota/team-a/gpus"},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, s.args(args...))
			if got.code != 0 || got.err != "" {
				t.Fatalf("%+v", got)
			}
			golden(t, "queues/"+name+".txt", got.stdout)
		})
	}
}

// TestForms: JSON and YAML have the shapes of the server's API.
func TestForms(t *testing.T) {
	s := serve(t, "cluster.yaml", "jobs/quota.yaml")
	decode := func(t *testing.T, into any, args ...string) {
		t.Helper()
		got := play(t, s.args(args...))
		read := json.Unmarshal
		if args[len(args)-1] == "yaml" {
			read = func(data []byte, into any) error { return yaml.UnmarshalStrict(data, into) }
		}
		if err := read([]byte(got.stdout), into); err != nil || got.code != 0 || got.err != "" {
			t.Fatalf("%v: %+v", err, got)
		}
	}
	for _, form := range []string{"json", "yaml"} {
		t.Run(form, func(t *testing.T) {
			var e explain.Explanation
			decode(t, &e, "explain", "queue-full", "-o", form)
			if e.ForSeconds != 90 || e.Blocker == nil || len(e.Arithmetic) != 2 {
				t.Errorf("%+v", e)
			}
			var history timeline.Timeline
			decode(t, &history, "timeline", "tj/queue-full", "-o", form)
			if history.Source != timeline.FromStatus || len(history.Items) != 2 {
				t.Errorf("%+v", history)
			}
			var list queues.List
			decode(t, &list, "queues", "research", "-o", form)
			if len(list.Items) != 1 || len(list.Items[0].Waiting) != 4 || list.Unreadable != nil {
				t.Errorf("%+v", list)
			}
		})
	}
}

// TestRefusals: each error has a cause, a remedy and an exit code, and stdout is empty.
func TestRefusals(t *testing.T) {
	forbid := func(what string) func(*apiServer) {
		return func(s *apiServer) {
			s.forbids = func(verb, resource, _ string) bool { return verb+" "+resource == what }
		}
	}
	without := func(s *apiServer) { s.without = []string{"mlplatform.example.com"} }
	nothing := func(*apiServer) {}
	for name, c := range map[string]struct {
		reason string
		edit   func(*apiServer)
		args   []string
		code   int
		want   []string // on stderr
	}{
		"no job": {
			"kubectl's message, and a remedy", nothing, []string{"explain", "nope"}, exitError,
			[]string{
				`Error from server (NotFound): trainingjobs.mlplatform.example.com "nope" not found` + "\n",
				"kubectl get trainingjobs -n team-a",
			},
		},
		"another namespace": {
			"the flag counts more than the kubeconfig", nothing, []string{"timeline", "queue-full", "-n", "team-b"},
			exitError, []string{"NotFound", "-n team-b"},
		},
		"watching no job": {"there is nothing to follow", nothing, []string{"explain", "nope", "-w"}, exitError,
			[]string{"NotFound"}},
		"forbidden": {
			"who can help", forbid("get trainingjobs"), []string{"explain", "queue-full"}, exitError,
			[]string{"Error from server (Forbidden)", "right to get trainingjobs in namespace team-a"},
		},
		"watching is forbidden": {
			"the right is another one", forbid("watch trainingjobs"), []string{"explain", "queue-full", "--watch"},
			exitError, []string{"(Forbidden)", "right to watch trainingjobs in namespace team-a"},
		},
		"no CRD": {
			"the operator is missing", without, []string{"explain", "queue-full"}, exitError,
			[]string{"mlplatform.example.com/v1alpha1: the operator is not installed"},
		},
		"no server": {
			"the connection is refused", nothing, []string{"timeline", "queue-full", "--server", "http://127.0.0.1:1"}, exitError,
			[]string{"connection refused", "kubectl cluster-info"},
		},
		"no context": {
			"of the kubeconfig", nothing, []string{"queues", "--context", "nope"}, exitError,
			[]string{"reading the kubeconfig", "nope"},
		},
		"no queue": {
			"which there are", nothing, []string{"queues", "reserach"}, exitError,
			[]string{`no queue or quota "reserach"`, "\n  queue/research\n"},
		},
		"no name":   {"of the job", nothing, []string{"explain"}, exitUsage, []string{"kubectl tj explain JOB"}},
		"two names": {"of jobs", nothing, []string{"timeline", "a", "b"}, exitUsage, []string{"name one job"}},
		"no such type": {"of jobs", nothing, []string{"explain", "pod/a"}, exitUsage,
			[]string{`"pod/a" is not a TrainingJob`}},
		"Kubeflow's type": {
			"it is another job", nothing, []string{"explain", "trainjob/queue-full"}, exitUsage,
			[]string{"trainjob/queue-full is a TrainJob of Kubeflow, which this cluster serves", "tj/queue-full"},
		},
		"Kubeflow's type, followed": {
			"too", nothing, []string{"explain", "TrainJob/queue-full", "--watch"}, exitUsage,
			[]string{"tj/queue-full"},
		},
		"Kubeflow's type, its history": {
			"too", nothing, []string{"timeline", "trainjob/queue-full"}, exitUsage, []string{"tj/queue-full"},
		},
		"a type, no server": {
			"what it means is unknown", nothing,
			[]string{"timeline", "trainjob/queue-full", "--server", "http://127.0.0.1:1"}, exitError,
			[]string{"connection refused", "kubectl cluster-info"},
		},
		"empty name": {"after a type", nothing, []string{"explain", "tj/"}, exitUsage, []string{"name one job"}},
		"two queues": {"at once", nothing, []string{"queues", "a", "b"}, exitUsage, []string{"one queue at most"}},
		"form":       {"unknown", nothing, []string{"explain", "a", "-o", "wide"}, exitUsage, []string{"-o json"}},
		"flag":       {"unknown", nothing, []string{"queues", "--watch"}, exitUsage, []string{"unknown flag"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "cluster.yaml", "jobs/quota.yaml")
			c.edit(s)
			got := play(t, s.args(c.args...))
			printed := got.stdout != "" && name != "watching is forbidden" // the first explanation was printed
			if got.code != c.code || printed {
				t.Errorf("%s: %+v, want code %d", c.reason, got, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(got.err, want) {
					t.Errorf("%s: stderr lacks %q:\n%s", c.reason, want, got.err)
				}
			}
		})
	}
}

// TestQueuesPartlyReadable: one note lists what is forbidden or not served; the rest is shown.
func TestQueuesPartlyReadable(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*apiServer)
		args []string
		// want on stdout, and never there.
		want, not string
		notes     string
	}{
		"a kind is forbidden": {
			func(s *apiServer) { s.forbids = func(_, r, _ string) bool { return r == "queues" } }, nil,
			"clusterqueue/team-a", "queue/research",
			"note: not shown because you may not list them: Queue\n",
		},
		"other namespaces are forbidden": {
			func(s *apiServer) { s.forbids = func(_, r, ns string) bool { return ns != "team-a" && r != "queues" } },
			[]string{"-A"}, "localqueue/team-a/main", "team-b",
			"note: not shown because you may not list them: ClusterQueue, PriorityClass,\n" +
				"    WorkloadPriorityClass\n" +
				"note: shown only for namespace team-a, the only one in which you may list\n" +
				"    them: ElasticQuota, LocalQueue, ResourceQuota\n" +
				"note: counted only for namespace team-a, the only one in which you may list\n" +
				"    them: TrainingJob\n",
		},
		"jobs are forbidden": {
			func(s *apiServer) { s.forbids = func(_, r, _ string) bool { return r == "trainingjobs" } }, nil,
			"unknown", "3 (",
			"note: the waiting jobs are unknown because you may not list them:\n    TrainingJob\n",
		},
		"no Kueue": {
			func(s *apiServer) { s.without = []string{"kueue.x-k8s.io", "scheduling.x-k8s.io"} }, nil,
			"queue/research", "clusterqueue",
			"note: the cluster does not serve: ClusterQueue, ElasticQuota, LocalQueue,\n    WorkloadPriorityClass\n",
		},
		"no operator": {
			func(s *apiServer) { s.without = []string{"mlplatform.example.com"} }, []string{"research"},
			"Jobs:       unknown", "Wait",
			"note: the waiting jobs are unknown because the cluster does not serve them:\n    TrainingJob\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "cluster.yaml")
			c.edit(s)
			got := play(t, s.args(append([]string{"queues"}, c.args...)...))
			if got.code != 0 || !strings.Contains(got.stdout, c.want) || strings.Contains(got.stdout, c.not) {
				t.Errorf("%+v", got)
			}
			if diff := cmp.Diff(c.notes, got.err); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			var list queues.List
			forms := play(t, s.args(append([]string{"queues", "-o", "json"}, c.args...)...))
			if err := json.Unmarshal([]byte(forms.stdout), &list); err != nil || forms.err != "" {
				t.Fatalf("%v: %+v", err, forms)
			}
			served := !strings.Contains(c.notes, "not serve")
			if len(list.Unreadable) > 0 != (served || name == "no operator") {
				t.Errorf("unreadable: %+v", list.Unreadable)
			}
			for _, u := range list.Unreadable {
				if u.Kind == "" || u.Detail == "" || u.Remedy == "" {
					t.Errorf("%+v", u)
				}
			}
		})
	}
	empty := play(t, serve(t).args("queues"))
	if empty.code != 0 || !strings.HasPrefix(empty.stdout, "You may list no queue, and no quota in namespace") {
		t.Errorf("a cluster without queues: %+v", empty)
	}
}

// TestShortNameWithoutKubeflow: trainjob is a TrainingJob where the cluster does not serve Kubeflow's kind.
func TestShortNameWithoutKubeflow(t *testing.T) {
	s := serve(t, "cluster.yaml", "jobs/quota.yaml")
	s.without = []string{"trainer.kubeflow.org"}
	for _, command := range []string{"explain", "timeline"} {
		want := play(t, s.args(command, "tj/queue-full"))
		if got := play(t, s.args(command, "trainjob/queue-full")); got.code != 0 || got != want {
			t.Errorf("%s: %+v, want %+v", command, got, want)
		}
	}
	args := append(s.args("__complete", "explain"), "trainjob/f")
	if got := play(t, args); got.stdout != "trainjob/first-come\n:4\n" {
		t.Errorf("completion: %+v", got)
	}
}

// TestCompletion: of jobs by name, of queues by name or type.
func TestCompletion(t *testing.T) {
	s := serve(t, "cluster.yaml", "jobs/quota.yaml")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"jobs":       {[]string{"explain", ""}, "holder\nfirst-come\nqueue-full\n:4\n"},
		"begun":      {[]string{"timeline", "h"}, "holder\n:4\n"},
		"typed":      {[]string{"explain", "tj/f"}, "tj/first-come\n:4\n"},
		"Kubeflow's": {[]string{"explain", "trainjob/f"}, ":1\n"},
		"one job":    {[]string{"explain", "holder", ""}, ":4\n"},
		"queues":     {[]string{"queues", "res"}, "research\n:4\n"},
		"queue type": {[]string{"queues", "clusterqueue/"}, "clusterqueue/team-a\n:4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			last := len(c.args) - 1
			args := append(s.args(append([]string{"__complete"}, c.args[:last]...)...), c.args[last])
			if got := play(t, args); got.code != 0 || got.stdout != c.want {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
	got := arguments([]string{"/bin/kubectl_complete-tj", "explain", "a"})
	if diff := cmp.Diff([]string{"__complete", "explain", "a"}, got); diff != "" {
		t.Errorf("as the completer: %s", diff)
	}
	if got := arguments([]string{"/bin/kubectl-tj", "explain"}); len(got) != 1 {
		t.Errorf("as the plugin: %q", got)
	}
}
