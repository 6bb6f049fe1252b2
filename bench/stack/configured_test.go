package stack

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func TestConfigurations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("actions: allocate"), 0o600); err != nil {
		t.Fatal(err)
	}
	mine, err := ParseConfiguration("mine=volcano:" + file)
	if err != nil {
		t.Fatal(err)
	}
	chosen := []Stack{
		Raw(localcluster.SchedulerVolcano), Ours(localcluster.SchedulerNative), rendered{VolcanoJob{Stock}},
	}
	all, err := WithConfigurations(chosen, []Configuration{mine})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"raw/volcano", "ours/native", "volcano-job", "raw/volcano@mine", "volcano-job@mine"}
	if got := namesOf(all); !slices.Equal(got, want) {
		t.Errorf("the stacks are %q, want %q", got, want)
	}
	for _, s := range all {
		var options localcluster.Options
		s.Cluster(&options)
		d := s.Describe()
		has := strings.HasSuffix(d.Name, "@mine")
		if (options.Configurations[localcluster.SchedulerVolcano] == file) != has {
			t.Errorf("%s has %q", d.Name, options.Configurations)
		}
		if has && (d.Floor != "raw/volcano" || d.Shipped()+"@mine" != d.Name) {
			t.Errorf("%s is compared with %s and %s", d.Name, d.Floor, d.Shipped())
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"mine":                        "not of the form name=scheduler:file",
		"mine=volcano":                "not of the form name=scheduler:file",
		"My=volcano:" + file:          "lower case",
		"mine=slurm:" + file:          `"slurm" in "mine=slurm:`,
		"mine=volcano:" + file + "-x": "no such file",
	} {
		if c, err := ParseConfiguration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want an error with %q", text, c, err, want)
		}
	}
	stacks := []Stack{Raw(localcluster.SchedulerVolcano)}
	kueue := Configuration{Name: "mine", Scheduler: localcluster.SchedulerKueue, File: file}
	volcano := Configuration{Name: "mine", Scheduler: localcluster.SchedulerVolcano, File: file}
	for want, configurations := range map[string][]Configuration{
		"no chosen stack": {kueue}, "two configurations": {volcano, volcano},
	} {
		_, err := WithConfigurations(stacks, configurations)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
