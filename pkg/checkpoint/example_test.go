package checkpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The Python example of docs/checkpoints.md, run with a fake torch, saves a complete checkpoint and resumes
// from it.
func TestThePageSavesACompleteCheckpoint(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the example of docs/checkpoints.md needs python3: install the package python3")
	}
	_, rest, ok := strings.Cut(readPage(t), "<!-- example: a test runs these lines -->\n```python\n")
	lines, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the page has lost its example")
	}
	dir := t.TempDir()
	const torch = `import json
def save(s, p):
  open(p, 'w').write(json.dumps(s))
def load(p):
  return json.loads(open(p).read())
`
	if err := os.WriteFile(filepath.Join(dir, "torch.py"), []byte(torch), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(resume, script string) string {
		t.Helper()
		cmd := exec.Command(python, "-c", "def new_state(): return {'step': 0}\n"+lines+script)
		cmd.Env = append(
			os.Environ(), "PYTHONPATH="+dir, EnvDir+"="+filepath.Join(dir, "attempt-1"),
			EnvResume+"="+resume,
		)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("", "save(100, {'step': 100}); save(200, {'step': 200})")
	c, err := Resolve(os.DirFS(dir), ".", Options{Sums: true}, nil)
	if err != nil || c.Point == nil || c.Point.Step != 200 || c.Found.Layout != LayoutManifest {
		t.Fatalf("%+v, %v", c, err)
	}
	if got := run(filepath.Join(dir, c.Point.Path), "print(state['step'])"); got != "200" {
		t.Errorf("resumed at step %s", got)
	}
}
