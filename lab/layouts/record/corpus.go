package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/lab/layouts"
)

// steps of the two saves of each tree, as in run.py.
var steps = []int64{10, 20}

// assemble adds the events of a trace to the trees that run.py lists in the directory work.
func assemble(in io.Reader, root, work string) ([]*layouts.Tree, error) {
	data, err := os.ReadFile(filepath.Join(root, work, "trees.json"))
	if err != nil {
		return nil, err
	}
	var trees []*layouts.Tree
	if err := json.Unmarshal(data, &trees); err != nil {
		return nil, err
	}
	byName := map[string]*layouts.Tree{}
	for _, t := range trees {
		t.Saves = []layouts.Save{{Step: steps[0]}}
		byName[t.Name] = t
	}
	each := func(op string, paths ...string) {
		rest, ok := strings.CutPrefix(paths[0], work+"/")
		name, at, _ := strings.Cut(rest, "/")
		t := byName[name]
		if !ok || t == nil {
			return
		}
		last := &t.Saves[len(t.Saves)-1]
		switch {
		case op == "open" && at == fmt.Sprintf("copied-%d", last.Step):
			next := slices.Index(steps, last.Step) + 1
			if next < len(steps) {
				t.Saves = append(t.Saves, layouts.Save{Step: steps[next]})
			}
			return
		case !strings.HasPrefix(at, "volume/"):
			return
		}
		for i, p := range paths {
			paths[i] = strings.TrimPrefix(p, work+"/"+name+"/volume/")
		}
		last.Events = append(last.Events, op+" "+strings.Join(paths, " "))
	}
	err = trace(in, root, func(op string, paths ...string) {
		if op == "move" && !strings.HasPrefix(paths[0], work) {
			// From a temporary directory, which in a pod is on another volume: then it is a copy.
			each("open", paths[1])
			each("close", paths[1])
			return
		}
		each(op, paths...)
	})
	for _, t := range trees {
		if slices.ContainsFunc(t.Saves, func(s layouts.Save) bool { return len(s.Events) == 0 }) {
			return nil, fmt.Errorf("%s: the trace shows no file of a save", t.Name)
		}
	}
	return trees, err
}

// write writes NAME.json and NAME.tar.gz. The archive has the files that each save wrote or changed, as
// TREE/STEP/PATH.
func write(out, name, work string, trees []*layouts.Tree) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var archive bytes.Buffer
	zip, err := gzip.NewWriterLevel(&archive, gzip.BestCompression)
	if err != nil {
		return err
	}
	to := tar.NewWriter(zip)
	for _, t := range trees {
		contents := map[string][]byte{}
		before := map[string][]byte{}
		for _, save := range t.Saves {
			files, err := readFiles(filepath.Join(work, t.Name, fmt.Sprint(save.Step)))
			if err != nil {
				return err
			}
			for _, p := range slices.Sorted(maps.Keys(files)) {
				if old, ok := before[p]; !ok || !bytes.Equal(old, files[p]) {
					contents[fmt.Sprintf("%d/%s", save.Step, p)] = files[p]
				}
			}
			before = files
		}
		for _, p := range slices.Sorted(maps.Keys(contents)) {
			head := &tar.Header{Name: t.Name + "/" + p, Mode: 0o644, Size: int64(len(contents[p]))}
			if err := to.WriteHeader(head); err != nil {
				return err
			}
			if _, err := to.Write(contents[p]); err != nil {
				return err
			}
		}
	}
	if err := to.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, name+".tar.gz"), archive.Bytes(), 0o644); err != nil {
		return err
	}
	index, err := json.MarshalIndent(trees, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, name+".json"), append(index, '\n'), 0o644)
}

// readFiles reads the regular files below a directory.
func readFiles(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	return files, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		files[rel], err = os.ReadFile(p)
		return err
	})
}

// verify reads the corpus, and compares what the events lead to with the files that a module's trees had.
func verify(out, work string) error {
	trees, err := layouts.Read(out)
	if err != nil {
		return err
	}
	for _, t := range trees {
		if _, err := os.Stat(filepath.Join(work, t.Name)); err != nil {
			continue // of another module
		}
		moments, err := t.Moments()
		if err != nil {
			return err
		}
		for _, m := range moments {
			if !m.Last {
				continue
			}
			want, err := readFiles(filepath.Join(work, t.Name, fmt.Sprint(t.Saves[m.Save].Step)))
			if err != nil {
				return err
			}
			maps.DeleteFunc(m.Files, func(name string, _ []byte) bool { return strings.HasSuffix(name, "/") })
			if !maps.EqualFunc(m.Files, want, bytes.Equal) {
				return fmt.Errorf("%s: the events of step %d lead to the files %v, not to %v", t.Name,
					t.Saves[m.Save].Step, slices.Sorted(maps.Keys(m.Files)), slices.Sorted(maps.Keys(want)))
			}
		}
	}
	return nil
}
