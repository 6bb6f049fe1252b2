package framework_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// TestGolden compares what the ranks of small gangs get from each framework with
// testdata/<framework>.txt.
func TestGolden(t *testing.T) {
	want := map[string]bool{}
	for _, f := range framework.All() {
		t.Run(f.Name, func(t *testing.T) {
			path := filepath.Join("testdata", f.Name+".txt")
			want[path] = true
			got := describe(t, f, "the simplest templates", gang(f, plainTemplate(f))) + "\n" +
				describe(t, f, "2 GPUs for each worker, and the framework's own names", gang(f, namedTemplate(f)))
			if f.Name == "mpi" { // whose Workers are never alone
				got += describeMPI(t, f)
			} else {
				got += "\n" + describe(t, f, "a Worker alone", workerAlone(f))
			}
			if f.Elastic {
				elastic := gang(f, plainTemplate(f))
				elastic.Elastic = &framework.Elastic{MinReplicas: 2, MaxRestarts: 5}
				got += "\n" + describe(t, f, "elastic from 2 ranks on", elastic)
			}
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			golden, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden), got); diff != "" {
				t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
			}
		})
	}
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if !want[path] {
			t.Errorf("%s belongs to no framework: remove it", path)
		}
	}
}

// template returns the pod of a role.
type template func(role string) *corev1.PodSpec

func plainTemplate(framework.Framework) template {
	return func(string) *corev1.PodSpec {
		return &corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}
	}
}

// namedTemplate puts a sidecar before a trainer that is marked by its name, and names another port than the
// default.
func namedTemplate(f framework.Framework) template {
	return func(role string) *corev1.PodSpec {
		trainer := corev1.Container{
			Name: last(framework.TrainerContainer, f.ContainerNames),
			Ports: []corev1.ContainerPort{
				{Name: "metrics", ContainerPort: 9090},
				{Name: last(framework.PortName, f.PortNames), ContainerPort: 7777},
			},
		}
		if role == "Worker" {
			trainer.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}
		}
		return &corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar"}, trainer}}
	}
}

func last(common string, own []string) string { return slices.Concat([]string{common}, own)[len(own)] }

// gang has one rank of the framework's first role and of those that are single, and two of every other.
func gang(f framework.Framework, spec template) framework.Gang {
	g := framework.Gang{
		Job: "bert",
		Host: func(role string, index int32) string {
			return fmt.Sprintf("bert-%s-%d.bert", strings.ToLower(role), index)
		},
		FilesDir: "/trainingjob/files",
		MPI:      framework.MPI{Slots: 1, SSHConfig: "/trainingjob/ssh/config"},
	}
	names := f.Roles
	if len(names) == 0 {
		names = []string{"Scheduler", "Worker"}
	}
	for i, name := range names {
		replicas := int32(2)
		if i == 0 && len(names) > 1 || slices.Contains(f.Single, name) {
			replicas = 1
		}
		g.Roles = append(g.Roles, f.DescribeRole(name, replicas, spec(name), nil))
	}
	return g
}

func workerAlone(f framework.Framework) framework.Gang {
	g := gang(f, plainTemplate(f))
	g.Roles = g.Roles[len(g.Roles)-1:]
	g.Roles[0].Name, g.Roles[0].Replicas = "Worker", 1
	return g
}

// describeMPI goes through what spec.mpi changes.
func describeMPI(t *testing.T, f framework.Framework) string {
	t.Helper()
	var b strings.Builder
	for _, v := range []struct {
		what string
		mpi  framework.MPI
	}{
		{
			"Open MPI with 8 slots and 120 seconds to save",
			framework.MPI{Implementation: "OpenMPI", Slots: 8},
		},
		{"the launcher works too", framework.MPI{Slots: 2, LauncherWorks: true}},
		{"MPICH", framework.MPI{Implementation: "MPICH", Slots: 2}},
		{"Intel MPI", framework.MPI{Implementation: "Intel", Slots: 2}},
	} {
		g := gang(f, plainTemplate(f))
		v.mpi.SSHConfig = g.MPI.SSHConfig
		g.MPI = v.mpi
		b.WriteString("\n" + describe(t, f, v.what, g))
	}
	return b.String()
}

func describe(t *testing.T, f framework.Framework, what string, g framework.Gang) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, a gang of %d: %s\n", f.Name, g.Size(), what)
	for rank := range g.Ranks() {
		if again := g.Rank(rank.Role, rank.Index); again != rank {
			t.Errorf("Rank returns %+v, Ranks yields %+v", again, rank)
		}
		fmt.Fprintf(&b, "\n%s %d, rank %d: %s:%d\n", rank.Role, rank.Index, rank.Number, rank.Host, rank.Port)
		setup, err := f.Setup(g, rank)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range setup.Env {
			fmt.Fprintf(&b, "  %s=%s\n", e.Name, e.Value)
			if e.ValueFrom != nil {
				t.Errorf("%s refers to another object; a framework's variables are plain values", e.Name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(setup.Files)) {
			fmt.Fprintf(&b, "  %s:\n    %s\n", filepath.Join(g.FilesDir, name),
				strings.ReplaceAll(strings.TrimSuffix(setup.Files[name], "\n"), "\n", "\n    "))
		}
	}
	return b.String()
}
