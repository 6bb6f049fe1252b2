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

// Command lines are data, so that a review shows their changes. Regenerate with -update.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestCommandLines(t *testing.T) {
	all := []string{SchedulerCoscheduling, SchedulerKueue, SchedulerNative, SchedulerVolcano}
	peers := []string{SchedulerKueue, SchedulerVolcano, AddOnJobSet, AddOnTrainer}
	equal := Limits{QPS: 2000, Burst: 4000, Workers: 10}
	cases := map[string]struct {
		reason     string
		extensions []string
		audit      bool
		trainers   string
		limits     map[string]Limits
	}{
		"native-only": {"no Volcano process, no audit", []string{SchedulerNative}, false, "", nil},
		"all":         {"everything that there is", all, true, "/BIN/localcluster", nil},
		"coscheduling-only": {
			"the default scheduler runs next to it, without its configuration",
			[]string{SchedulerCoscheduling}, false, "", nil,
		},
		"kueue-only": {"its gangs are bound natively", []string{SchedulerKueue}, false, "", nil},
		"volcano-only": {
			"no alpha API is served: an operator must find that native gangs are not to be had",
			[]string{SchedulerVolcano}, false, "", nil,
		},
		"peers-stock": {
			"no limit is set, but those of Volcano's scheduler", peers, false, "",
			map[string]Limits{ProcessVolcanoController: {}},
		},
		"peers-equal": {
			"each has the same limits, as far as it has flags for them", peers, false, "",
			map[string]Limits{
				ProcessVolcanoController: equal, ProcessTrainer: equal,
				ProcessJobSet: {QPS: equal.QPS, Burst: equal.Burst},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config := testConfig(c.extensions, c.audit, c.trainers)
			config.Limits = c.limits
			if diff := golden(t, "commands-"+name+".golden", renderCommands(config, c.extensions)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// golden is the difference between a file of testdata and what was got.
func golden(t *testing.T, file, got string) string {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return cmp.Diff(string(want), got)
}

// testConfig has readable paths and ports counted from 20001.
func testConfig(extensions []string, audit bool, trainers string) Config {
	ports := map[string]int{}
	for i, name := range PortNames(extensions, trainers != "") {
		ports[name] = 20001 + i
	}
	return Config{
		Files:   layout.Layout{Dir: "/DIR"},
		Modules: "/MODULES",
		Binaries: components.Binaries{
			components.Etcd: "/CACHE/etcd", components.Kubernetes: "/CACHE/kubernetes",
			components.KWOK: "/CACHE/kwok", components.Volcano: "/CACHE/volcano",
			components.SchedulerPlugins: "/CACHE/scheduler-plugins", components.Kueue: "/CACHE/kueue",
			components.JobSet: "/CACHE/jobset", components.Trainer: "/CACHE/trainer",
		},
		Ports:           ports,
		Features:        FeaturesFor(extensions),
		NodeGracePeriod: 12 * time.Second,
		Audit:           audit,
		Trainers:        trainers,
	}
}

func renderCommands(c Config, extensions []string) string {
	processes := append([]process.Process{c.Etcd(), c.APIServer()}, c.Base()...)
	for _, extension := range Extensions(extensions) {
		if extra := extension.Processes; extra != nil {
			processes = append(processes, extra(c)...)
		}
	}
	var out strings.Builder
	for _, p := range processes {
		fmt.Fprintf(&out, "%s  ports %v  health %s  log %s\n%s\n", p.Name, p.Ports, p.Health, p.Log, p.Path)
		if p.Etc != "" {
			fmt.Fprintf(&out, "  with %s as /etc\n", p.Etc)
		}
		for _, variable := range p.Env {
			fmt.Fprintf(&out, "  with %s\n", variable)
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
	c := Config{Files: layout.Layout{Dir: t.TempDir()}, Modules: modules(t)}
	own := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(own, []byte("clientConnection: {qps: 7}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ scheduler, module, configured, path string }{
		{SchedulerNative, components.Kubernetes, "", c.Files.SchedulerConfiguration()},
		{SchedulerNative, components.Kubernetes, own, c.Files.SchedulerConfiguration()},
		{SchedulerCoscheduling, components.SchedulerPlugins, "", c.Files.PluginsConfiguration()},
	} {
		c.Configurations = map[string]string{tc.scheduler: tc.configured}
		module, path := tc.module, tc.path
		if err := c.completeSchedulerConfiguration(tc.scheduler, module, path); err != nil {
			t.Fatal(err)
		}
		want := readYAML(t, c.configuration(tc.scheduler, module, schedulerConfiguration))
		if _, ships := want["apiVersion"]; ships != (tc.configured == "") {
			t.Errorf("%s with %q has the configuration %v", tc.scheduler, tc.configured, want)
		}
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
		extensions []string
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
		"add-ons are their own": {
			[]string{SchedulerVolcano, AddOnJobSet, AddOnTrainer}, false,
			[]string{"etcd", "kubernetes", "kwok", "volcano", "jobset", "trainer"},
		},
		"a real node": {
			[]string{SchedulerNative}, true, []string{"etcd", "kubernetes", "kwok", "kubelet", "node"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ComponentsFor(c.extensions, c.realNode)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
