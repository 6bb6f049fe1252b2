package components

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeyChangesWithEverythingThatIsBuilt(t *testing.T) {
	modules := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(modules, "c", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	key := func(c component, toolchain string) string {
		t.Helper()
		key, err := c.key(modules, toolchain)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	c := component{name: "c", binaries: map[string]string{"example.com/a": "a", "example.com/b": "b"}}
	write("go.mod", "module c")
	write("go.sum", "sum")
	first := key(c, "go1.26")
	if first != key(c, "go1.26") || !strings.HasPrefix(first, "c-") {
		t.Errorf("the key is not stable: %s", first)
	}
	seen := map[string]string{first: "at first"}
	different := func(why, key string) {
		t.Helper()
		if before, ok := seen[key]; ok {
			t.Errorf("%s the key is the same as %s", why, before)
		}
		seen[key] = why
	}
	different("with another Go", key(c, "go1.27"))
	fewer := component{name: "c", binaries: map[string]string{"example.com/a": "a"}}
	different("with another binary", key(fewer, "go1.26"))
	write("go.sum", "other sum")
	different("with another go.sum", key(c, "go1.26"))
	write("go.mod", "module c // changed")
	different("with another go.mod", key(c, "go1.26"))
}

func TestLinkFlags(t *testing.T) {
	got := strings.Join(linkFlags("v1.36.3"), " ")
	want := "-s -w -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" +
		" -X k8s.io/component-base/version.gitTreeState=clean -X k8s.io/component-base/version.gitVersion=v1.36.3" +
		" -X k8s.io/client-go/pkg/version.gitVersion=v1.36.3"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"-s", "-w"}, linkFlags("")); diff != "" {
		t.Errorf("without Kubernetes (-want +got):\n%s", diff)
	}
}

func TestSelectComponents(t *testing.T) {
	selected, err := selectComponents([]string{KWOK, Etcd})
	if err != nil || len(selected) != 2 || selected[0].name != Etcd || selected[1].name != KWOK {
		t.Errorf("not in build order: %v, %v", selected, err)
	}
	_, err = selectComponents([]string{"etcd", "slurm"})
	if err == nil || !strings.Contains(err.Error(), "slurm") {
		t.Errorf("got %v", err)
	}
}

// Every component has a module file with a tool line for each binary, which keeps their versions in go.sum.
func TestModuleFilesNameTheirTools(t *testing.T) {
	modules, err := FindModules("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components() {
		content, err := os.ReadFile(filepath.Join(modules, c.name, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, pkg := range c.packages() {
			if !strings.Contains(string(content), pkg+"\n") {
				t.Errorf("lab/modules/%s/go.mod has no tool %s", c.name, pkg)
			}
		}
	}
}
