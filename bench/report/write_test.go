package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var keep = flag.String("keep", "", "a folder to leave a report of synthetic results in, to look at")

// syntheticResults of ten stacks, three workloads and three rounds.
var syntheticResults = sync.OnceValue(synthetic{tenStacks(), threeWorkloads(), 3}.results)

func TestWrite(t *testing.T) {
	dir, again := *keep, t.TempDir()
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.Mkdir(filepath.Join(again, "plots"), 0o750); err != nil {
		t.Fatal(err)
	}
	earlier := filepath.Join(again, "plots", "another-workload-time.png")
	if err := os.WriteFile(earlier, []byte("drawn before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{dir, again} {
		if err := Write(to, fixture()); err != nil {
			t.Fatal(err)
		}
	}
	if *keep != "" {
		if err := Write(dir, syntheticResults()); err != nil {
			t.Fatal(err)
		}
	}
	text := string(readFile(t, filepath.Join(again, "report.md")))
	plots := regexp.MustCompile(`plots/[a-z-]+\.png`).FindAllString(text, -1)
	files, err := filepath.Glob(filepath.Join(again, "plots", "*"))
	if err != nil || len(files) != 2*len(plots) || len(plots) < 8 {
		t.Errorf("%d files of plots, and %d plots in the report, want at least 8: %v", len(files), len(plots), err)
	}
	for _, name := range slices.Clone(plots) {
		plots = append(plots, strings.TrimSuffix(name, "png")+"svg")
	}
	for _, name := range plots {
		got := readFile(t, filepath.Join(again, name))
		if *keep == "" && !bytes.Equal(got, readFile(t, filepath.Join(dir, name))) {
			t.Errorf("%s is not the same when it is drawn again", name)
		}
		checkImage(t, name, got)
	}
	read, err := Read(bytes.NewReader(readFile(t, filepath.Join(again, "report.json"))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fixture(), read); diff != "" {
		t.Error(diff)
	}
}

func TestWriteRefusesContradictions(t *testing.T) {
	r := fixture()
	r.Workloads[0].Name = "../burst"
	dir := filepath.Join(t.TempDir(), "report")
	if err := Write(dir, r); err == nil {
		t.Error("a workload's name leaves the folder")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// checkImage reports what cannot be decoded, or is too small for its text.
func checkImage(t *testing.T, name string, content []byte) {
	t.Helper()
	if strings.HasSuffix(name, ".png") {
		image, err := png.Decode(bytes.NewReader(content))
		if err != nil || image.Bounds().Dx() != 1320 || image.Bounds().Dy() < 300 {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	for decoder := xml.NewDecoder(bytes.NewReader(content)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
	}
}
