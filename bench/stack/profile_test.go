package stack

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// The versions are those that are built.
func TestVersions(t *testing.T) {
	folder, err := components.FindModules("")
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]string{
		components.Kubernetes: "k8s.io/kubernetes", components.Volcano: "volcano.sh/volcano",
		components.Kueue: "sigs.k8s.io/kueue", components.JobSet: "sigs.k8s.io/jobset",
		components.Trainer:          "github.com/kubeflow/trainer/v2",
		components.SchedulerPlugins: "sigs.k8s.io/scheduler-plugins",
	}
	got := map[string]string{}
	for name, module := range required {
		text, err := os.ReadFile(filepath.Join(folder, name, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile(`\n(?:require |\t)` + regexp.QuoteMeta(module) + ` (v\S+)`)
		if found := line.FindSubmatch(text); found != nil {
			got[name] = string(found[1])
		}
	}
	if diff := cmp.Diff(got, versions); diff != "" {
		t.Errorf("(-lab/modules +reported):\n%s", diff)
	}
	for _, s := range All(Stock) {
		for name, version := range s.Describe().Versions {
			if version == "" {
				t.Errorf("%s does not say which %s it runs", s.Describe().Name, name)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	const program = localcluster.ProcessVolcanoController
	setting := func(name, value string, stock bool) result.Setting {
		return result.Setting{Program: program, Name: name, Value: value, Stock: stock}
	}
	cases := map[string]struct {
		profile Profile
		limits  localcluster.Limits
		want    []result.Setting
	}{
		"stock: the program is left alone": {Stock, localcluster.Limits{}, []result.Setting{
			setting("client requests per second", "50", true), setting("client burst", "100", true),
			setting("workers", "3", true),
		}},
		"equal: the value is set": {Equal, equal, []result.Setting{
			setting("client requests per second", "2000", false), setting("client burst", "4000", false),
			setting("workers", "10", false),
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.profile.settings(program)); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.limits, c.profile.limits(program)); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

// Settings that cannot be changed are reported as stock in every profile.
func TestJobSetHasOneWorker(t *testing.T) {
	settings := Equal.settings(localcluster.ProcessJobSet)
	want := result.Setting{Program: localcluster.ProcessJobSet, Name: "workers", Value: "1", Stock: true}
	if diff := cmp.Diff(want, settings[2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
