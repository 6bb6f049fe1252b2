package checkpoint

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/layouts"
)

// judgement is what the agent has to find in a tree of the corpus. In paths and events, # stands for the
// step, ####### for the step with seven digits, and @ for what else differs between the saves.
type judgement struct {
	layout Layout
	// path at which a save is found; empty: it is none that the agent knows.
	path string
	// state of a whole save; empty: Complete.
	state State
	// steps of the two saves, as the layout tells them; empty: 10 and 20.
	steps [2]int64
	// differs replaces @ in the two saves.
	differs [2]string
	// from is the event, or a pattern of it, after which the framework can resume from a save, where that is
	// not its last one. Or the agent cannot notice what is missing then, in the first save alone or in all.
	first, from string
	// others match files beside the saves that the agent lists, too.
	others string
	// kept is why retention keeps old saves, although the layout is removable.
	kept string
	// loose are files whose loss the framework tolerates, or which nothing names, each with the reason.
	loose map[string]string
}

var corpus = sync.OnceValues(func() ([]*layouts.Tree, error) { return layouts.Read("testdata/layouts") })

func corpusTrees(t *testing.T) []*layouts.Tree {
	t.Helper()
	trees, err := corpus()
	if err != nil {
		t.Fatal(err)
	}
	return trees
}

// eachTree runs a test for each tree of the corpus, with the moments in which it was written.
func eachTree(t *testing.T, test func(*testing.T, *recording)) {
	for _, of := range corpusTrees(t) {
		t.Run(of.Name, func(t *testing.T) {
			t.Parallel()
			moments, err := of.Moments()
			if err != nil {
				t.Fatal(err)
			}
			want, ok := judgements[of.Name]
			if !ok {
				t.Fatal("the tree has no judgement")
			}
			test(t, &recording{of, moments, want})
		})
	}
}

type recording struct {
	*layouts.Tree
	moments []layouts.Moment
	want    judgement
}

// step that the agent reads from a save.
func (r *recording) step(save int) int64 {
	if r.want.steps != [2]int64{} {
		return r.want.steps[save]
	}
	return r.Saves[save].Step
}

// in puts the step of a save into a path or an event.
func (r *recording) in(text string, save int) string {
	for width := 10; width > 1; width-- {
		text = strings.ReplaceAll(text, strings.Repeat("#", width), fmt.Sprintf("%0*d", width, r.step(save)))
	}
	text = strings.ReplaceAll(text, "@", r.want.differs[save])
	return strings.ReplaceAll(text, "#", fmt.Sprint(r.step(save)))
}

func (r *recording) path(save int) string { return r.in(r.want.path, save) }

// whole is the volume after the last event of a save.
func (r *recording) whole(save int) layouts.Files {
	i := slices.IndexFunc(r.moments, func(m layouts.Moment) bool { return m.Save == save && m.Last })
	return r.moments[i].Files
}

// resumable reports whether the framework can resume at a moment from the save that it is part of.
func (r *recording) resumable(i int) bool {
	m, event := r.moments[i], r.want.from
	if r.want.first != "" && m.Save == 0 {
		event = r.want.first
	}
	from := slices.IndexFunc(r.moments, func(o layouts.Moment) bool {
		ok, err := path.Match(r.in(event, m.Save), o.Event)
		return o.Save == m.Save && (o.Last || ok || err != nil)
	})
	return i >= from
}

// touched reports whether a save is not on the volume any more as it was after its last event.
func (r *recording) touched(save int, files layouts.Files) bool {
	for name, content := range r.whole(save) {
		if r.belongs(name, save) && string(files[name]) != string(content) {
			return true
		}
	}
	return false
}

// belongs reports whether a file is part of a save and of no other.
func (r *recording) belongs(name string, save int) bool {
	at := r.path(save)
	return at != "" && (name == at || strings.HasPrefix(name, at+"/") || strings.HasPrefix(name, at+"."))
}

func (r *recording) scan(t *testing.T, files layouts.Files) []Found {
	t.Helper()
	return scan(t, tree(files))
}

// TestCorpusHasOnlyKnownTrees keeps the judgements and the trees together.
func TestCorpusHasOnlyKnownTrees(t *testing.T) {
	trees := corpusTrees(t)
	for _, name := range slices.Sorted(maps.Keys(judgements)) {
		if !slices.ContainsFunc(trees, func(of *layouts.Tree) bool { return of.Name == name }) {
			t.Errorf("%s has a judgement and no tree", name)
		}
	}
}

// TestCorpusWholeSavesAreFound: the agent finds what a framework saved, with its step, and nothing else.
func TestCorpusWholeSavesAreFound(t *testing.T) {
	eachTree(t, func(t *testing.T, r *recording) {
		for save := range r.Saves {
			files := r.whole(save)
			found := r.scan(t, files)
			here := 0
			for earlier := range save + 1 {
				if r.want.path == "" || r.touched(earlier, files) {
					continue
				}
				here++
				state := r.want.state
				if state == "" {
					state = Complete
				}
				f := at(found, r.path(earlier))
				if f.State != state || f.Layout != r.want.layout || f.Step != r.step(earlier) {
					t.Errorf("after save %d, want %s %s at %s, step %d; got %+v", save, state, r.want.layout,
						r.path(earlier), r.step(earlier), found)
				}
			}
			for name := range files {
				if r.isOther(name) {
					here++
				}
			}
			if len(found) != here {
				t.Errorf("after save %d, want %d saves, got %+v", save, here, found)
			}
			for _, f := range found {
				if f.State == Torn && r.isOther(f.Path) {
					t.Errorf("got %+v", f)
				}
				if _, err := fs.Stat(tree(files).fs(), f.Path); err != nil && f.Layout != LayoutTensorFlow {
					t.Errorf("%s is invented: %v", f.Path, err)
				}
			}
			if c := Choose(found, nil); r.want.path != "" && r.want.state == "" &&
				(c.Point == nil || c.Point.Step != r.step(save)) {
				t.Errorf("after save %d, chose %+v", save, c.Point)
			}
		}
	})
}

// TestCorpusSavesAreNotCompleteBeforeTheirLastFile: a save that its trainer did not finish is never a resume
// point, and the one before it remains one.
func TestCorpusSavesAreNotCompleteBeforeTheirLastFile(t *testing.T) {
	eachTree(t, func(t *testing.T, r *recording) {
		for i, m := range r.moments {
			if r.resumable(i) {
				continue
			}
			r.verifyUnfinished(t, "after "+m.Event, m.Save, m.Files)
			if name, ok := strings.CutPrefix(m.Event, "open "); ok {
				r.verifyUnfinished(t, "after "+m.Event+", empty", m.Save, tree(m.Files).with(name, []byte{}))
			}
		}
	})
}

// TestCorpusDamagedSavesArePassedOver: a file of a whole save is lost, cut or emptied.
func TestCorpusDamagedSavesArePassedOver(t *testing.T) {
	eachTree(t, func(t *testing.T, r *recording) {
		last := len(r.Saves) - 1
		files := r.whole(last)
		for name, content := range files {
			if !r.belongs(name, last) || strings.HasSuffix(name, "/") || len(content) == 0 {
				continue
			}
			if r.isLoose(name, last) {
				continue
			}
			text := bytes.TrimRight(content, "\n")
			for how, data := range map[string][]byte{
				"lost": nil, "cut in half": content[:len(content)/2], "cut by a byte": text[:len(text)-1],
				"empty": {},
			} {
				damaged := maps.Clone(files)
				if damaged[name] = data; data == nil {
					delete(damaged, name)
				}
				r.verifyUnfinished(t, name+" is "+how, last, damaged)
			}
		}
	})
}

func (r *recording) isOther(name string) bool {
	ok, err := path.Match(r.want.others, name)
	return ok || err != nil
}

func (r *recording) isLoose(name string, save int) bool {
	for pattern := range r.want.loose {
		if ok, err := path.Match(r.in(pattern, save), name); ok || err != nil {
			return true
		}
	}
	return false
}

// verifyUnfinished checks a volume on which a save is not finished.
func (r *recording) verifyUnfinished(t *testing.T, when string, save int, files map[string][]byte) {
	t.Helper()
	found := r.scan(t, files)
	for _, f := range found {
		if f.State == Complete && f.Step == r.step(save) {
			t.Errorf("%s, save %d is called complete: %+v", when, save, f)
		}
		if f.State != Complete && f.Why == "" {
			t.Errorf("%s, no reason is given: %+v", when, f)
		}
	}
	if save == 0 || r.want.path == "" || r.want.state != "" || r.touched(save-1, files) {
		return
	}
	if c := Choose(found, nil); c.Point == nil || c.Point.Step != r.step(save-1) {
		t.Errorf("%s, chose %+v of %+v", when, c.Point, found)
	}
}

// TestCorpusRetention: at no moment does retention delete what a gang would resume from, and after two whole
// saves it deletes the first.
func TestCorpusRetention(t *testing.T) {
	eachTree(t, func(t *testing.T, r *recording) {
		for i, m := range r.moments {
			found := r.scan(t, m.Files)
			deleted := Retain(found, Keep{Last: 1, Attempt: 1})
			rest := maps.Clone(m.Files)
			for _, f := range deleted {
				for _, root := range f.Roots() {
					maps.DeleteFunc(rest, func(name string, _ []byte) bool { return within(name, root) })
				}
			}
			before, after := Choose(found, nil), Choose(r.scan(t, rest), nil)
			if before.Point == nil != (after.Point == nil) || before.Point != nil && *before.Point != *after.Point {
				t.Errorf("after %s, retention deletes %+v: the resume point was %+v and is %+v", m.Event, deleted,
					before.Point, after.Point)
			}
			if i < len(r.moments)-1 {
				continue
			}
			isDue := removable(r.want.layout) && r.want.state == "" && r.want.kept == "" && !r.touched(0, m.Files)
			if got := len(deleted) == 1 && slices.Contains(deleted[0].Roots(), r.path(0)); got != isDue {
				t.Errorf("after two saves, retention deletes %+v", deleted)
			}
		}
	})
}
