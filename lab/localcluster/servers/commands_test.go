package servers

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

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// Command lines are data, and a change of them is to be seen in review. Regenerate with -update.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestCommandLines(t *testing.T) {
	all := []string{SchedulerCoscheduling, SchedulerKueue, SchedulerNative, SchedulerVolcano}
	cases := map[string]struct {
		reason     string
		schedulers []string
		audit      bool
		trainers   string
	}{
		"native-only": {"no Volcano process, no audit", []string{SchedulerNative}, false, ""},
		"all":         {"everything that there is", all, true, "/BIN/localcluster"},
		"coscheduling-only": {
			"the normal scheduler runs beside it, without its configuration",
			[]string{SchedulerCoscheduling}, false, "",
		},
		"kueue-only": {"its gangs are bound natively", []string{SchedulerKueue}, false, ""},
		"volcano-only": {
			"no alpha API is served: an operator must find that native gangs are not to be had",
			[]string{SchedulerVolcano}, false, "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", "commands-"+name+".golden")
			got := renderCommands(testConfig(c.schedulers, c.audit, c.trainers), c.schedulers)
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

// testConfig has readable paths and ports counted from 20001.
func testConfig(schedulers []string, audit bool, trainers string) Config {
	ports := map[string]int{}
	for i, name := range PortNames(schedulers, trainers != "") {
		ports[name] = 20001 + i
	}
	return Config{
		Files:   layout.Layout{Dir: "/DIR"},
		Modules: "/MODULES",
		Binaries: components.Binaries{
			components.Etcd: "/CACHE/etcd", components.Kubernetes: "/CACHE/kubernetes",
			components.KWOK: "/CACHE/kwok", components.Volcano: "/CACHE/volcano",
			components.SchedulerPlugins: "/CACHE/scheduler-plugins", components.Kueue: "/CACHE/kueue",
		},
		Ports:           ports,
		Features:        FeaturesFor(schedulers),
		NodeGracePeriod: 12 * time.Second,
		Audit:           audit,
		Trainers:        trainers,
	}
}

func renderCommands(c Config, schedulers []string) string {
	processes := append([]process.Process{c.Etcd(), c.APIServer()}, c.Base()...)
	for _, name := range schedulers {
		if extra := Schedulers()[name].Processes; extra != nil {
			processes = append(processes, extra(c)...)
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

// What runs are our files, and they talk to this cluster.
func TestSchedulerConfigurations(t *testing.T) {
	modules, err := components.FindModules("")
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Files: layout.Layout{Dir: t.TempDir()}, Modules: modules}
	for module, path := range map[string]string{
		components.Kubernetes:       c.Files.SchedulerConfiguration(),
		components.SchedulerPlugins: c.Files.PluginsConfiguration(),
	} {
		if err := c.completeSchedulerConfiguration(module, path); err != nil {
			t.Fatal(err)
		}
		want := readYAML(t, c.moduleFile(module, "scheduler.yaml"))
		want["clientConnection"].(map[string]any)["kubeconfig"] = c.Files.Kubeconfig()
		if diff := cmp.Diff(want, readYAML(t, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", module, diff)
		}
		if err := c.Files.Clean(false); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", path, err)
		}
	}
}

func readYAML(t *testing.T, path string) map[string]any {
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

// A story builds the components of its own scheduler, and no others.
func TestComponentsFor(t *testing.T) {
	cases := map[string]struct {
		schedulers []string
		realNode   bool
		want       []string
	}{
		"native needs nothing more": {[]string{SchedulerNative}, false, []string{"etcd", "kubernetes", "kwok"}},
		"coscheduling is its own": {
			[]string{SchedulerCoscheduling}, false, []string{"etcd", "kubernetes", "kwok", "scheduler-plugins"},
		},
		"volcano is its own": {
			[]string{SchedulerVolcano, SchedulerNative}, false, []string{"etcd", "kubernetes", "kwok", "volcano"},
		},
		"kueue is its own": {[]string{SchedulerKueue}, false, []string{"etcd", "kubernetes", "kwok", "kueue"}},
		"a real node": {
			[]string{SchedulerNative}, true, []string{"etcd", "kubernetes", "kwok", "kubelet", "node"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ComponentsFor(c.schedulers, c.realNode)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
