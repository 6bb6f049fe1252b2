package architecture

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// banned words, and what is written in their place. CONTRIBUTING.md has the other rules for English.
var banned = map[string]string{
	"anew":      "again, recreate",                    // quote
	"whom":      "name the user, the gang or the pod", // quote
	"whoever":   "a user who",                         // quote
	"whosoever": "a user who",                         // quote
	"said":      "reported, returned, logged",         // quote
	"told":      "notified, reported",                 // quote
	"nobody":    "no user, no program: name it",       // quote
	"nobodys":   "no user's: name it",                 // quote
	"somebody":  "a user, another controller",         // quote
	"anybody":   "any user",                           // quote
	"heard":     "received",                           // quote
	"hearsay":   "report",                             // quote
	"thereof":   "of it",                              // quote
	"likewise":  "also, the same",                     // quote
}

var (
	bannedWord = regexp.MustCompile(`(?i)\b(` + strings.Join(slices.Sorted(maps.Keys(banned)), "|") + `)\b`)
	// wordBoundary is where a word begins inside of an identifier.
	wordBoundary = regexp.MustCompile(`([a-z0-9])([A-Z])|_`)
	// written are the files that people write and read. Golden files follow from them.
	written = []string{".go", ".md", ".yaml", ".yml", ".tmpl", ".tpl", ".html", ".js", ".css", ".py", ".sh",
		".sql"}
)

// TestBannedWords keeps words out that readers of the Kubernetes documentation do not expect. A quotation has
// the comment "quote" in its line.
func TestBannedWords(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (d.Name()[0] == '.' || slices.Contains(notCommitted, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(written, filepath.Ext(file)):
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(content), "\n") {
			for _, word := range bannedIn(line) {
				t.Errorf("%s:%d: %s: write %s", file, i+1, word, banned[strings.ToLower(word)])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// bannedIn a line, of prose or of code.
func bannedIn(line string) []string {
	if strings.Contains(line, "// quote") || strings.Contains(line, "# quote") {
		return nil
	}
	return bannedWord.FindAllString(wordBoundary.ReplaceAllString(line, "$1 $2"), -1)
}

func TestBannedWordsAreFound(t *testing.T) {
	for line, want := range map[string]int{
		"// the operator is told of it":              1, // quote
		"func mayBeTold(said bool) {":                2, // quote
		"nobodys_fault := Whom(x)":                   2, // quote
		"a renewed lease, unsaid, aside, retold":     0,
		`t.Error("anew") // quote`:                   0,
		"the gang is submitted again: see sayMore()": 0,
	} {
		if got := bannedIn(line); len(got) != want {
			t.Errorf("%q: found %q, want %d", line, got, want)
		}
	}
}

// Bounds of the documentation: words of a sentence, lines of README.md, and words of all pages in docs.
const (
	mostWords     = 30
	mostReadme    = 180
	mostPageWords = 54_000
)

func TestDocumentationIsShort(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(readme), "\n"); n > mostReadme {
		t.Errorf("README.md has %d lines, more than %d", n, mostReadme)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		words += len(strings.Fields(string(content)))
	}
	if words > mostPageWords {
		t.Errorf("the pages in docs have %d words, more than %d", words, mostPageWords)
	}
}

var (
	listItem    = regexp.MustCompile(`^\s*([-*]|\d+\.)\s+`)
	sentenceEnd = regexp.MustCompile(`[.!?:;]["')*_]*(\s+|$)`)
)

// TestSentencesAreShort keeps the documentation readable at speed.
func TestSentencesAreShort(t *testing.T) {
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range longSentences(string(content)) {
			t.Errorf("%s: a sentence of %d words, more than %d: %s", file, len(strings.Fields(s)), mostWords, s)
		}
	}
}

// longSentences of a page. Code is one word, a cell of a table and an item of a list end a sentence.
func longSentences(page string) (long []string) {
	page = codeBlock.ReplaceAllString(page, "\n")
	page = linkText.ReplaceAllString(codeSpan.ReplaceAllString(page, "CODE"), "$1")
	for _, paragraph := range strings.Split(page, "\n\n") {
		var texts []string
		for _, line := range strings.Split(paragraph, "\n") {
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "|"):
				texts = append(texts, strings.Split(line, "|")...)
			case listItem.MatchString(line), strings.HasPrefix(line, "#"), len(texts) == 0:
				texts = append(texts, line)
			default:
				texts[len(texts)-1] += " " + line
			}
		}
		for _, text := range texts {
			for _, s := range sentenceEnd.Split(text, -1) {
				if len(strings.Fields(s)) > mostWords {
					long = append(long, strings.Join(strings.Fields(s), " "))
				}
			}
		}
	}
	return long
}

func TestLongSentencesAreFound(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for name, tc := range map[string]struct {
		page string
		want int
	}{
		"short":            {words(30) + ". " + words(30) + ".", 0},
		"long":             {words(10) + "\n" + words(21) + ".", 1},
		"a list":           {"- " + words(29) + "\n- " + words(29), 0},
		"a table":          {"| " + words(20) + " | " + words(20) + " |\n", 0},
		"a block of code":  {"```\n" + words(40) + "\n```\n", 0},
		"a span of code":   {words(20) + " `" + words(20) + "` " + words(5), 0},
		"a link with text": {words(25) + " [" + words(6) + "](docs/x.md)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := longSentences(tc.page); len(got) != tc.want {
				t.Errorf("found %q, want %d", got, tc.want)
			}
		})
	}
}
