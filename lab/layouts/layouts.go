// Package layouts reads a corpus of checkpoints as the current releases of frameworks write them, with the
// order in which they write. Every moment of a save can be restored from it: what a volume holds if the
// trainer is killed there.
//
// A corpus is a directory. For each module of lab/layouts/record/trees it has NAME.json, which lists the
// trees, and NAME.tar.gz, which has their files after each save. To record it again, with root, Debian,
// mmdebstrap and strace:
//
//	go run ./lab/layouts/record
package layouts

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is a directory in which a framework saved twice.
type Tree struct {
	Name string `json:"name"`
	// Framework that wrote the tree, and its version.
	Framework string `json:"framework"`
	Version   string `json:"version"`
	Ranks     int    `json:"ranks"`
	// ByHand is the source of the layout, where the framework's own code cannot run here. The files are
	// written by hand with what the framework calls, for example torch.save.
	ByHand string `json:"byHand,omitempty"`
	// Saves in the order in which they were written.
	Saves []Save `json:"saves"`

	contents map[string][]byte
}

// Save is what a framework did to write a checkpoint.
type Save struct {
	Step int64 `json:"step"`
	// Events are lines of "mkdir PATH", "open PATH" (a file is created, or emptied), "close PATH" (its content
	// is written), "move PATH PATH" and "delete PATH".
	Events []string `json:"events"`
}

// Files are a volume's files by path. A path that ends in a slash is a directory.
type Files map[string][]byte

// Moment is the state of a volume after an event.
type Moment struct {
	// Save is the index of the save that the event is part of.
	Save  int
	Event string
	// Files at that moment. A file that is open has the first half of what it will hold.
	Files Files
	// Last reports whether it is the save's last event.
	Last bool
}

// Read reads a corpus.
func Read(dir string) ([]*Tree, error) {
	indexes, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*Tree
	for _, index := range indexes {
		trees, err := readModule(index)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", index, err)
		}
		all = append(all, trees...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("reading %s: it has no trees", dir)
	}
	return all, nil
}

func readModule(index string) ([]*Tree, error) {
	data, err := os.ReadFile(index)
	if err != nil {
		return nil, err
	}
	var trees []*Tree
	if err := json.Unmarshal(data, &trees); err != nil {
		return nil, err
	}
	byName := map[string]*Tree{}
	for _, t := range trees {
		t.contents, byName[t.Name] = map[string][]byte{}, t
	}
	f, err := os.Open(strings.TrimSuffix(index, ".json") + ".tar.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for in := tar.NewReader(zip); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return trees, nil
		}
		if err != nil {
			return nil, err
		}
		name, file, _ := strings.Cut(head.Name, "/")
		t := byName[name]
		if t == nil {
			return nil, fmt.Errorf("%s belongs to no tree", head.Name)
		}
		if t.contents[file], err = io.ReadAll(in); err != nil {
			return nil, err
		}
	}
}

// node is a file under all of its names.
type node struct {
	content  []byte
	isClosed bool
}

// volume is the state of a volume while the events are replayed.
type volume struct {
	files map[string]*node
	dirs  map[string]bool
}

// Moments returns the state of the volume after each event of all saves.
func (t *Tree) Moments() ([]Moment, error) {
	opened, err := t.openedNodes()
	if err != nil {
		return nil, err
	}
	var moments []Moment
	v, n := volume{map[string]*node{}, map[string]bool{}}, 0
	for i, save := range t.Saves {
		for j, event := range save.Events {
			isOpen := strings.HasPrefix(event, "open ")
			if err := v.apply(event, func() *node { return &node{content: opened[n].content} }); err != nil {
				return nil, fmt.Errorf("%s: %w", t.Name, err)
			}
			if isOpen {
				n++
			}
			moments = append(moments, Moment{i, event, v.snapshot(), j == len(save.Events)-1})
		}
	}
	return moments, nil
}

// openedNodes returns the files that the events open, each with the content that it has at the end of its
// save. One that is not there any more has an arbitrary content.
func (t *Tree) openedNodes() ([]*node, error) {
	var opened []*node
	v := volume{map[string]*node{}, map[string]bool{}}
	for i, save := range t.Saves {
		for _, event := range save.Events {
			if err := v.apply(event, func() *node {
				opened = append(opened, &node{content: []byte("not recorded")})
				return opened[len(opened)-1]
			}); err != nil {
				return nil, fmt.Errorf("%s: %w", t.Name, err)
			}
		}
		for name, n := range v.files {
			for _, earlier := range slices.Backward(t.Saves[:i+1]) {
				if content, ok := t.contents[fmt.Sprintf("%d/%s", earlier.Step, name)]; ok {
					n.content = content
					break
				}
			}
		}
	}
	return opened, nil
}

func (v *volume) apply(event string, open func() *node) error {
	op, arg, _ := strings.Cut(event, " ")
	switch op {
	case "mkdir":
		v.dirs[arg] = true
	case "open":
		v.files[arg] = open()
	case "close":
		n := v.files[arg]
		if n == nil {
			return fmt.Errorf("%s: it is not there", event)
		}
		n.isClosed = true
	case "move":
		from, to, _ := strings.Cut(arg, " ")
		v.move(from, to)
	case "delete":
		delete(v.files, arg)
		delete(v.dirs, arg)
	default:
		return fmt.Errorf("%s: this event is unknown", event)
	}
	return nil
}

func (v *volume) move(from, to string) {
	for _, name := range slices.Collect(maps.Keys(v.files)) {
		if rest, ok := strings.CutPrefix(name, from); ok && (rest == "" || rest[0] == '/') {
			v.files[to+rest] = v.files[name]
			delete(v.files, name)
		}
	}
	for _, name := range slices.Collect(maps.Keys(v.dirs)) {
		if rest, ok := strings.CutPrefix(name, from); ok && (rest == "" || rest[0] == '/') {
			delete(v.dirs, name)
			v.dirs[to+rest] = true
		}
	}
}

func (v *volume) snapshot() Files {
	out := Files{}
	for name := range v.dirs {
		out[name+"/"] = nil
	}
	for name, n := range v.files {
		out[name] = n.content
		if !n.isClosed {
			out[name] = n.content[:len(n.content)/2]
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			delete(out, dir+"/")
		}
	}
	return out
}
