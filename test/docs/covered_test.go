package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxExceptions is how many commands of all pages need not be run.
const maxExceptions = 10

// TestEveryCommandIsRun fails on a command that no session plays, no named test runs and no exception
// excuses, and on an entry of these lists that stands for nothing any more.
func TestEveryCommandIsRun(t *testing.T) {
	used := map[string]bool{}
	for _, page := range pages(t) {
		blocks := readBlocks(t, page)
		for _, problem := range uncovered(blocks, used) {
			t.Error(problem)
		}
	}
	for _, s := range sessions {
		if !used[s.key()] {
			t.Errorf("the session of %s plays no command", s.key())
		}
	}
	for _, e := range elsewhere {
		if !used[e.key()] {
			t.Errorf("no page has %q any more, which another test runs", e.key())
		}
	}
	for _, e := range exceptions {
		if !used[e.key()] {
			t.Errorf("no page has %q any more, which is an exception", e.key())
		}
		if e.reason == "" {
			t.Errorf("%q is an exception without a reason", e.key())
		}
	}
	if len(exceptions) > maxExceptions {
		t.Errorf("%d exceptions, more than %d", len(exceptions), maxExceptions)
	}
}

// uncovered returns a problem for each command that no test runs, and marks the entries of the lists that it
// used.
func uncovered(blocks []block, used map[string]bool) (problems []string) {
	for _, b := range blocks {
		commands := b.commands()
		if len(commands) == 0 {
			for _, line := range b.lines {
				if b.language == "text" && isCommand(strings.TrimPrefix(line, sessionOf)) {
					problems = append(problems, fmt.Sprintf("%s: a command in a block of text: make it sh or console: %s",
						b.place(), line))
				}
			}
			continue
		}
		if s, ok := sessionFor(b); ok {
			used[s.key()] = true
			continue
		}
		for _, c := range commands {
			for _, line := range strings.Split(c.text, "\n") {
				if !isCommand(line) {
					continue
				}
				if key, ok := excused(b.page, line); ok {
					used[key] = true
					continue
				}
				problems = append(problems, fmt.Sprintf(
					"%s: no test runs %q: write a session in sessions_test.go, name the test that runs it, or make an "+
						"exception", b.place(), line))
			}
		}
	}
	return problems
}

// excused reports whether a test elsewhere runs the command, or no test needs to.
func excused(page, line string) (key string, ok bool) {
	for _, e := range elsewhere {
		if e.page == page && strings.HasPrefix(strings.TrimSpace(line), e.command) {
			return e.key(), true
		}
	}
	for _, e := range exceptions {
		if e.page == page && strings.HasPrefix(strings.TrimSpace(line), e.command) {
			return e.key(), true
		}
	}
	return "", false
}

// TestElsewhereIsThere: the named file runs the command, or at least has the words by which it is known.
func TestElsewhereIsThere(t *testing.T) {
	for _, e := range elsewhere {
		content, err := os.ReadFile(filepath.Join(root, e.file))
		if err != nil {
			t.Errorf("%s: %v", e.key(), err)
			continue
		}
		if e.words == "" || !strings.Contains(string(content), e.words) {
			t.Errorf("%s: %s does not contain %q", e.key(), e.file, e.words)
		}
	}
}

func TestUncoveredCommandsAreFound(t *testing.T) {
	tests := map[string]struct {
		text string
		want int
	}{
		"a new command":         {"```\nkubectl delete everything\n```\n", 1},
		"two of them":           {"```sh\nkubectl delete everything\nmake havoc\n```\n", 2},
		"in a session":          {"```console\n$ kubectl delete everything\ndeleted\n```\n", 1},
		"a continued line":      {"```sh\nhelm install it \\\n  --now\n```\n", 1},
		"hidden in text":        {"```text\n$ kubectl delete everything\n```\n", 1},
		"a drawing":             {"```\n a --> b\n```\n", 0},
		"a file":                {"```yaml\n# a.yaml\nmake: up\n```\n", 0},
		"one that is played":    {"## One step\n```\nkubectl get tj\n```\n", 1},
		"run by another's test": {"```\nmake demo\n```\n", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			page := "docs/none.md"
			if name == "run by another's test" {
				page = "README.md"
			}
			blocks, err := blocksOf(page, test.text)
			if err != nil {
				t.Fatal(err)
			}
			if problems := uncovered(blocks, map[string]bool{}); len(problems) != test.want {
				t.Errorf("problems %q, want %d", problems, test.want)
			}
		})
	}
}
