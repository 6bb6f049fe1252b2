package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const aPage = "# A page\n\n```yaml\n# job.yaml\nkind: TrainingJob\n```\n\n## To `run`, [it](x.md)\n\n" +
	"```console\n$ kubectl get tj \\\n    -A\nNAME\nbert\n$ kubectl delete tj bert\n```\n\n" +
	"1. In a list\n\n   ```\n   make demo\n   make test\n   ```\n\n```\na drawing\n```\n"

func TestBlocks(t *testing.T) {
	blocks, err := blocksOf("docs/page.md", aPage)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) != 4 {
		t.Fatalf("%d blocks", len(blocks))
	}
	if name, content := blocks[0].file(); name != "job.yaml" || content != "# job.yaml\nkind: TrainingJob\n" {
		t.Errorf("file %q: %q", name, content)
	}
	if blocks[1].section != "to-run-it" || blocks[1].line != 10 {
		t.Errorf("section %q, line %d", blocks[1].section, blocks[1].line)
	}
	var texts []string
	for _, b := range blocks {
		for _, c := range b.commands() {
			texts = append(texts, c.text+"|"+strings.Join(c.shown, ","))
		}
	}
	want := []string{
		"kubectl get tj \\\n    -A|NAME,bert", "kubectl delete tj bert|", "make demo\nmake test|",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	for _, broken := range []string{"```sh\nnever closed\n", "```sh more\n```\n"} {
		if _, err := blocksOf("docs/page.md", broken); err == nil {
			t.Errorf("%q has no error", broken)
		}
	}
}

func TestMatches(t *testing.T) {
	tests := map[string]struct {
		shown, printed string
		want           bool
	}{
		"the same":                 {"bert Queued", "bert Queued", true},
		"width of columns":         {"bert  Queued", "bert     Queued", true},
		"another word":             {"bert Queued", "bert Running", false},
		"another number of GPUs":   {"needs 8", "needs 9", false},
		"a line broken":            {"bert waits\n    for GPUs", "bert waits for GPUs", true},
		"a line too many":          {"bert", "bert\ngpt", false},
		"a line too few":           {"bert\ngpt", "bert", false},
		"age":                      {"bert 5s", "bert 2m10s", true},
		"a number is no age":       {"bert 5s", "bert 5", false},
		"time":                     {"at 2026-11-21T09:30:00Z", "at 2026-01-01T00:00:00Z", true},
		"step":                     {"step 160 of 1000", "step 80 of 1000", true},
		"steps in all":             {"step 160 of 1000", "step 160 of 2000", false},
		"percent":                  {"20%", "7%", true},
		"anything in a line":       {"bert ... Queued", "bert 0/4 8 Queued", true},
		"any lines":                {"bert\n...\nvit", "bert\na\nb\nvit", true},
		"no lines":                 {"bert\n...\nvit", "bert\nvit", true},
		"any lines at the end":     {"bert\n...", "bert\na\nb", true},
		"not what follows":         {"bert\n...\nvit", "bert\na\nb", false},
		"nothing shown or printed": {"", "", true},
		"nothing shown":            {"", "bert", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := matches(linesOf(test.shown), linesOf(test.printed)); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
