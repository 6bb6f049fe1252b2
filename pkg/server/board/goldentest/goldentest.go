// Package goldentest compares pages of the board with golden files, for tests.
package goldentest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
)

var (
	update = flag.Bool("update", false, "write the golden files")
	pages  = flag.String("pages", "", "absolute path of a folder for complete pages, to look at them")
)

// styles is the board's style sheet, relative to the folder of a page.
const styles = "../static/board.css"

// Compare compares the body of a page, shortened by Short, with testdata/<name>.html, and checks it against
// the board's content security policy. css is that of the page.
func Compare(t *testing.T, name, body, css string) {
	t.Helper()
	fragmenttest.Document(t, "<!doctype html><title>"+name+"</title>"+body)
	write(t, name, body, css)
	got, path := Short(body), filepath.Join("testdata", name+".html")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s has changed (-want +got); look at it, then run with -update:\n%s", name, diff)
	}
}

// shown elements of a long list.
const shown = 60

// Short keeps the first 60 of more than 60 consecutive fragments. A fragment can have several lines; only the
// line after the last fragment of a list begins with an end tag.
func Short(body string) string {
	var kept []string
	run, left := 0, 0
	for _, line := range strings.SplitAfter(body, "\n") {
		switch {
		case strings.HasPrefix(line, "</"): // the end of a list
			run = 0
		case strings.Contains(line, ` data-v="`):
			run++
		}
		if run > shown {
			left++
			continue
		}
		kept = append(kept, line)
	}
	if left > 0 {
		kept = append(kept, "<!-- some lines are left out -->\n")
	}
	return strings.Join(kept, "")
}

// write the complete page, if the flag is set.
func write(t *testing.T, name, body, css string) {
	t.Helper()
	if *pages == "" {
		return
	}
	base, err := os.ReadFile(styles)
	if err != nil {
		t.Fatal(err)
	}
	page := "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + name + "</title>\n" +
		"<meta name=\"viewport\" content=\"width=device-width\">\n" +
		"<style>" + string(base) + css + "</style>\n<main>" + body + "</main>"
	path := filepath.Join(*pages, filepath.Base(t.Name())+"-"+name+".html")
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}
