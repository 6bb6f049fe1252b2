package architecture

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

var update = flag.Bool("update", false, "raise the versions that modules share")

// alignedModules build from the same versions of what they share, so that Go's build cache compiles it once.
var alignedModules = []string{
	".", "lab/modules/kubernetes", "lab/modules/kubelet", "lab/modules/node", "lab/modules/kwok",
	"lab/modules/tools",
}

// TestModulesShareVersions fails where alignedModules require different versions of the same module. With
// -update it raises all of them to the highest one.
func TestModulesShareVersions(t *testing.T) {
	if *update {
		alignModules(t)
	}
	for path, versions := range differingVersions(t) {
		t.Errorf("%s is required in versions %v: run go test -run TestModulesShareVersions . -update", path,
			versions)
	}
}

// TestAPIModuleIsSmall: programs that import the API depend on nothing but Kubernetes' own API, in the
// version of the operator. Of what that requires they choose the version.
func TestAPIModuleIsSmall(t *testing.T) {
	ours := map[string]string{}
	for _, r := range readModule(t, ".").Require {
		ours[r.Mod.Path] = r.Mod.Version
	}
	var direct []string
	for _, r := range readModule(t, "api").Require {
		if r.Indirect {
			continue
		}
		direct = append(direct, r.Mod.Path)
		if want := ours[r.Mod.Path]; r.Mod.Version != want {
			t.Errorf("api requires %s, and the operator %s", r.Mod, want)
		}
	}
	if want := []string{"k8s.io/api", "k8s.io/apimachinery"}; !slices.Equal(direct, want) {
		t.Errorf("api requires %v, want %v", direct, want)
	}
}

// differingVersions returns the versions of each module that is required in several, the highest one last.
func differingVersions(t *testing.T) map[string][]string {
	t.Helper()
	versions := map[string][]string{}
	for _, dir := range alignedModules {
		for _, r := range readModule(t, dir).Require {
			if path := r.Mod.Path; !slices.Contains(versions[path], r.Mod.Version) {
				versions[path] = append(versions[path], r.Mod.Version)
			}
		}
	}
	for path, all := range versions {
		slices.SortFunc(all, semver.Compare)
		if len(all) == 1 {
			delete(versions, path)
		}
	}
	return versions
}

// alignModules raises versions until none differs.
func alignModules(t *testing.T) {
	t.Helper()
	for differ := differingVersions(t); len(differ) > 0; differ = differingVersions(t) {
		for _, dir := range alignedModules {
			for _, r := range readModule(t, dir).Require {
				if versions := differ[r.Mod.Path]; len(versions) > 0 {
					runGo(t, dir, "mod", "edit", "-require="+r.Mod.Path+"@"+versions[len(versions)-1])
				}
			}
			runGo(t, dir, "mod", "tidy")
		}
	}
}

func readModule(t *testing.T, dir string) *modfile.File {
	t.Helper()
	name := filepath.Join(dir, "go.mod")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(name, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func runGo(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %v in %s: %v\n%s", args, dir, err, out)
	}
}
