package architecture

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

var (
	// linkTarget matches the target of [text](target "title") and of [name]: target; not a footnote.
	linkTarget = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)|(?m:^\s*\[[^\]^][^\]]*\]:\s+(\S+))`)
	// codeBlock and codeSpan match text in which nothing is a link.
	codeBlock = regexp.MustCompile("(?ms)^[ >]*```.*?^[ >]*```[ ]*$")
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	heading   = regexp.MustCompile(`(?m)^#{1,6}\s+(.+?)\s*#*$`)
	htmlID    = regexp.MustCompile(`<[a-z]+ (?:id|name)="([^"]+)"`)
	linkText  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	// notCommitted are folders that a build or a run makes.
	notCommitted = []string{"bin", "results"}
)

// TestLinksResolve checks every relative link of every Markdown file: the file or folder is there, and so is
// the heading that the link's fragment names. Links to other hosts are not checked.
func TestLinksResolve(t *testing.T) {
	root := os.DirFS(".")
	files, err := markdownFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Errorf("only %d Markdown files were found", len(files))
	}
	links := 0
	for _, file := range files {
		broken, checked, err := brokenLinks(root, file)
		if err != nil {
			t.Fatal(err)
		}
		links += checked
		for _, b := range broken {
			t.Errorf("%s: %s", file, b)
		}
	}
	if links < 50 {
		t.Errorf("only %d links were checked", links)
	}
}

// TestBrokenLinksAreFound shows that the check can fail, and that it does not when it should not.
func TestBrokenLinksAreFound(t *testing.T) {
	root := fstest.MapFS{
		"docs/guide.md":  {Data: []byte("# The guide\n\n## `spec` and [status](x): all?\n\n## Twice\n\n## Twice\n")},
		"docs/table.md":  {Data: []byte("| <a id=\"row-1\"></a>first |\n\n```\n# No heading\n```\n")},
		"docs/main.go":   {Data: []byte("package main\n")},
		"bin/made.txt":   {Data: []byte("made\n")},
		"a folder/x.txt": {Data: []byte("x\n")},
	}
	tests := map[string]struct {
		text string
		want string // part of the only problem; "" for none
	}{
		"file":                     {"[a](main.go)", ""},
		"folder":                   {"[a](../docs)", ""},
		"folder with a slash":      {"[a](../docs/)", ""},
		"escaped space":            {"[a](../a%20folder/x.txt)", ""},
		"title":                    {`[a](main.go "the program")`, ""},
		"other hosts":              {"[a](https://example.com/x) [b](mailto:x@example.com)", ""},
		"heading":                  {"[a](guide.md#the-guide)", ""},
		"heading with punctuation": {"[a](guide.md#spec-and-status-all)", ""},
		"second of its name":       {"[a](guide.md#twice-1)", ""},
		"HTML anchor":              {"[a](table.md#row-1)", ""},
		"heading of this file":     {"# Here\n[a](#here)", ""},
		"line of source code":      {"[a](main.go#L1)", ""},
		"code":                     {"`[a](gone.md)`\n```\n[a](gone.md)\n```\n", ""},
		"footnote":                 {"text[^1]\n\n[^1]: gone.md is not a link\n", ""},

		"no such file":                  {"[a](gone.md)", "gone.md: no such file"},
		"no such file, text of 2 lines": {"[a\nb](gone.md)", "gone.md: no such file"},
		"no such image":                 {"![a](gone.png)", "gone.png: no such file"},
		"no such file by reference":     {"[a]\n\n[a]: gone.md\n", "gone.md: no such file"},
		"no such heading":               {"[a](guide.md#gone)", "guide.md#gone: no such heading"},
		"third of its name":             {"[a](guide.md#twice-2)", "no such heading"},
		"heading in a code block":       {"[a](table.md#no-heading)", "no such heading"},
		"no such heading here":          {"[a](#gone)", "#gone: no such heading"},
		"case of a heading":             {"[a](guide.md#The-guide)", "no such heading"},
		"outside the repository":        {"[a](../../x.md)", "leaves the repository"},
		"absolute":                      {"[a](/docs/guide.md)", "leaves the repository"},
		"what a build makes":            {"[a](../bin/made.txt)", "is not committed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"docs/page.md": {Data: []byte(test.text)}}
			for path, file := range root {
				files[path] = file
			}
			broken, _, err := brokenLinks(files, "docs/page.md")
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" && len(broken) > 0 {
				t.Errorf("problems %q, want none", broken)
			}
			if test.want != "" && (len(broken) != 1 || !strings.Contains(broken[0], test.want)) {
				t.Errorf("problems %q, want one with %q", broken, test.want)
			}
		})
	}
}

// markdownFiles lists the repository's Markdown files, without those of hidden folders.
func markdownFiles(root fs.FS) ([]string, error) {
	var files []string
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (name[0] == '.' || slices.Contains(notCommitted, name)):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(name) == ".md":
			files = append(files, file)
		}
		return nil
	})
	return files, err
}

// brokenLinks says what is wrong with the relative links of a file, and how many of them it has.
func brokenLinks(root fs.FS, file string) (broken []string, checked int, err error) {
	content, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, 0, err
	}
	text := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(string(content), ""), "")
	for _, match := range linkTarget.FindAllStringSubmatch(text, -1) {
		target := match[1] + match[2]
		u, err := url.Parse(target)
		if err != nil {
			broken = append(broken, fmt.Sprintf("%s: %v", target, err))
			continue
		}
		if u.Scheme != "" || u.Host != "" {
			continue
		}
		checked++
		if problem := problemOf(root, file, u); problem != "" {
			broken = append(broken, target+": "+problem)
		}
	}
	return broken, checked, nil
}

// problemOf says what is wrong with a relative link of a file; "" for nothing.
func problemOf(root fs.FS, file string, link *url.URL) string {
	target := file
	if link.Path != "" {
		target = path.Join(path.Dir(file), link.Path)
	}
	top, _, _ := strings.Cut(target, "/")
	switch {
	case top == ".." || path.IsAbs(link.Path):
		return "leaves the repository"
	case slices.Contains(notCommitted, top):
		return "is not committed"
	}
	if _, err := fs.Stat(root, target); err != nil {
		return "no such file"
	}
	if link.Fragment == "" || path.Ext(target) != ".md" {
		return ""
	}
	content, err := fs.ReadFile(root, target)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchors(string(content)), link.Fragment) {
		return "no such heading"
	}
	return ""
}

// anchors returns what fragments may name in a Markdown file: its headings as GitHub writes them, and the IDs
// of its HTML elements.
func anchors(content string) []string {
	content = codeBlock.ReplaceAllString(content, "")
	var all []string
	seen := map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(content, -1) {
		slug := slugOf(match[1])
		if n := seen[slug]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", slug, n))
		} else {
			all = append(all, slug)
		}
		seen[slug]++
	}
	for _, match := range htmlID.FindAllStringSubmatch(content, -1) {
		all = append(all, match[1])
	}
	return all
}

// slugOf is the heading in lower case, with hyphens for spaces and without punctuation.
func slugOf(heading string) string {
	heading = linkText.ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
