package localcluster

import (
	"os"
	"path/filepath"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// Commands work at the root of the repository, wherever the command that prints them ran.
func TestCommandsArePastedAtTheRoot(t *testing.T) {
	root, err := components.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, dir, want string }{
		"the default": {"it needs no flag", filepath.Join(root, ".localcluster"), "bin/localcluster down"},
		"in a subfolder": {
			"the default of another working directory is not the root's",
			filepath.Join(here, ".localcluster"), "bin/localcluster down --dir lab/localcluster/.localcluster",
		},
		"elsewhere": {"an absolute path", "/tmp/c", "bin/localcluster down --dir /tmp/c"},
		"beside": {
			"a name that begins like the root's", root + "-other", "bin/localcluster down --dir " + root + "-other",
		},
		"with spaces": {"a shell must not split it", "/tmp/a b's", `bin/localcluster down --dir '/tmp/a b'\''s'`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := DownCommand(c.dir); got != c.want {
				t.Errorf("got %s, want %s: %s", got, c.want, c.reason)
			}
		})
	}
}
