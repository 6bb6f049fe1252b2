package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's folder.
const root = "../.."

// programs are what commands begin with.
var programs = []string{
	"agent", "bin/", "cat", "cp", "crane", "ctr", "curl", "docker", "echo", "etcd", "etcdctl", "etcdutl",
	"export", "git", "go", "grep", "helm", "jq", "kubectl", "make", "mkdir", "python", "python3", "sed",
	"skopeo", "systemctl", "tar",
}

var (
	fence     = regexp.MustCompile("^( *)```([a-z]*)\\s*$")
	anyFence  = regexp.MustCompile("^ *```")
	headline  = regexp.MustCompile(`^#{1,6} +(.+?)\s*$`)
	fileName  = regexp.MustCompile(`^# ([a-z0-9-]+\.(?:yaml|json|py|lua))$`)
	noSlug    = regexp.MustCompile(`[^a-z0-9_ -]`)
	markdown  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	sessionOf = "$ "
)

// block is a fenced code block of a page.
type block struct {
	page     string // its path in the repository
	section  string // the slug of the heading above
	line     int    // of the opening fence, from 1
	indent   int
	language string
	lines    []string // without indentation
}

// command with the lines that the page shows below it.
type command struct {
	text  string
	shown []string
	// from and to are the lines of the block in which the output is shown.
	from, to int
}

func (b block) place() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// commands of a block; none if it is text or a file.
func (b block) commands() []command {
	switch b.language {
	case "console":
		return b.session()
	case "sh":
	case "":
		if len(b.lines) == 0 || !isCommand(b.lines[0]) {
			return nil
		}
	default:
		return nil
	}
	return []command{{text: strings.Join(b.lines, "\n")}}
}

func (b block) session() []command {
	var all []command
	for i := 0; i < len(b.lines); i++ {
		line := b.lines[i]
		if !strings.HasPrefix(line, sessionOf) {
			if len(all) > 0 {
				last := &all[len(all)-1]
				last.shown, last.to = append(last.shown, line), i+1
			}
			continue
		}
		text := strings.TrimPrefix(line, sessionOf)
		for strings.HasSuffix(text, "\\") && i+1 < len(b.lines) {
			i++
			text += "\n" + strings.TrimPrefix(b.lines[i], "> ")
		}
		all = append(all, command{text: text, from: i + 1, to: i + 1})
	}
	return all
}

// isCommand reports whether a line begins with the name of a program.
func isCommand(line string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return slices.ContainsFunc(programs, func(p string) bool {
		return word == p || strings.HasSuffix(p, "/") && strings.HasPrefix(word, p)
	})
}

// file is the name and content of the file that a block is; "" if it is none.
func (b block) file() (name, content string) {
	if len(b.lines) == 0 || len(b.commands()) > 0 {
		return "", ""
	}
	match := fileName.FindStringSubmatch(b.lines[0])
	if match == nil {
		return "", ""
	}
	return match[1], strings.Join(b.lines, "\n") + "\n"
}

// blocksOf a page of the repository.
func blocksOf(page, text string) ([]block, error) {
	var all []block
	var open *block
	section := ""
	for i, line := range strings.Split(text, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case open != nil && anyFence.MatchString(line):
			all, open = append(all, *open), nil
		case open != nil:
			open.lines = append(open.lines, strings.TrimPrefix(line, strings.Repeat(" ", open.indent)))
		case match != nil:
			open = &block{page: page, section: section, line: i + 1, indent: len(match[1]), language: match[2]}
		case anyFence.MatchString(line):
			return nil, fmt.Errorf("%s:%d: the language is not one word of small letters", page, i+1)
		default:
			if h := headline.FindStringSubmatch(line); h != nil {
				section = slug(h[1])
			}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block is not closed", open.place())
	}
	return all, nil
}

// slug is a heading as a link's fragment names it.
func slug(heading string) string {
	heading = strings.ToLower(markdown.ReplaceAllString(heading, "$1"))
	return strings.ReplaceAll(noSlug.ReplaceAllString(heading, ""), " ", "-")
}

// pages whose commands are run: README.md, docs/, and the Markdown of examples/.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "examples/*.md", "examples/*/*.md", "examples/*/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			all = append(all, strings.TrimPrefix(path, root+"/"))
		}
	}
	if len(all) < 15 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return all
}

func readBlocks(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := blocksOf(page, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}
