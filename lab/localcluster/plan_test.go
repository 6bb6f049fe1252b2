package localcluster

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The command lines are data: what is changed in them shall be seen in review.
// Regenerate with -update.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestCommandLines(t *testing.T) {
	cases := map[string]struct {
		reason  string
		options Options
	}{
		"native-only": {"no Volcano process, no audit", Options{Schedulers: []string{SchedulerNative}}},
		"all":         {"everything that there is", Options{Schedulers: []string{SchedulerCoscheduling, SchedulerKueue, SchedulerNative, SchedulerVolcano}, Audit: true, Trainers: "/BIN/localcluster"}},
		"coscheduling-only": {
			"the normal scheduler runs beside it, without its configuration",
			Options{Schedulers: []string{SchedulerCoscheduling}},
		},
		"kueue-only": {"its gangs are bound natively", Options{Schedulers: []string{SchedulerKueue}}},
		"volcano-only": {
			"no alpha API is served: an operator must find that native gangs are not to be had",
			Options{Schedulers: []string{SchedulerVolcano}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", "commands-"+name+".golden")
			c.options.NodeGracePeriod = 12 * time.Second
			got := renderCommands(testPlan(c.options))
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// testPlan has readable paths and ports counted from 20001.
func testPlan(options Options) plan {
	ports := map[string]int{}
	for i, name := range portNames(options) {
		ports[name] = 20001 + i
	}
	return plan{
		options: options,
		files:   layout{"/DIR"},
		modules: "/MODULES",
		binaries: Binaries{
			componentEtcd: "/CACHE/etcd", componentKubernetes: "/CACHE/kubernetes",
			componentKwok: "/CACHE/kwok", componentVolcano: "/CACHE/volcano",
			componentPlugins: "/CACHE/scheduler-plugins", componentKueue: "/CACHE/kueue",
		},
		ports: ports,
	}
}

func renderCommands(p plan) string {
	processes := append([]process{p.etcd(), p.apiserver()}, p.common()...)
	for _, name := range p.options.Schedulers {
		if extra := schedulers()[name].processes; extra != nil {
			processes = append(processes, extra(p)...)
		}
	}
	var out strings.Builder
	for _, p := range processes {
		fmt.Fprintf(&out, "%s  ports %v  health %s  log %s\n%s\n", p.Name, p.Ports, p.Health, p.Log, p.Path)
		if p.Etc != "" {
			fmt.Fprintf(&out, "  with %s as /etc\n", p.Etc)
		}
		for _, arg := range p.Args {
			fmt.Fprintf(&out, "  %s\n", arg)
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

// What runs is our file, and it talks to this cluster.
func TestPluginsConfiguration(t *testing.T) {
	modules, err := findModules("")
	if err != nil {
		t.Fatal(err)
	}
	p := plan{files: layout{t.TempDir()}, modules: modules}
	if err := p.writePluginsConfiguration(); err != nil {
		t.Fatal(err)
	}
	read := func(path string) map[string]any {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]any{}
		if err := yaml.UnmarshalStrict(content, &read); err != nil {
			t.Fatal(err)
		}
		return read
	}
	want := read(p.configuration("scheduler-plugins", "scheduler.yaml"))
	want["clientConnection"].(map[string]any)["kubeconfig"] = p.files.kubeconfig()
	if diff := cmp.Diff(want, read(p.files.plugins())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := p.files.clean(false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.files.plugins()); !os.IsNotExist(err) {
		t.Errorf("it is left behind: %v", err)
	}
}
