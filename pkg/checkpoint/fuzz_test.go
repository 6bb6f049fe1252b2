package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An ordinary test run executes the seeds of the fuzz targets and what they have found (testdata/fuzz);
// make fuzz searches further.

// cheap runs a parser on an input of so many bytes. What the parser allocates in all, and reads, is bounded
// by that, whatever the input claims, and it ends in time: the deadline is far beyond what any input takes.
func cheap(t *testing.T, size int, read *int64, f func()) {
	t.Helper()
	const most = 48 << 20
	limit := int64(most + 256*size)
	began := time.Now()
	if n := allocated(f); n > limit {
		t.Fatalf("%d bytes of input made it allocate %d bytes", size, n)
	}
	if read != nil && *read > limit+maxTable+maxSafetensors {
		t.Fatalf("%d bytes of input made it read %d bytes", size, *read)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Fatalf("%d bytes of input took %s", size, took)
	}
}

func FuzzMessages(f *testing.F) {
	for _, d := range documents() {
		if len(d.json) < 4096 {
			f.Add(d.message, []byte(d.json))
		}
	}
	f.Fuzz(func(t *testing.T, message string, data []byte) {
		for name, typ := range messages {
			if !strings.HasPrefix(name, message) {
				continue
			}
			if parseAny(name, data) != nil {
				continue
			}
			into := reflect.New(typ).Interface()
			if err := json.Unmarshal(data, into); err != nil {
				t.Fatalf("%s took what cannot be decoded: %v", name, err)
			}
			again, err := Encode(into)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := parseAny(name, again); err != nil {
				t.Fatalf("%s wrote what it does not read, %s: %v", name, again, err)
			}
		}
	})
}

// FuzzTrace: a trace lies on a volume that a trainer can write to.
func FuzzTrace(f *testing.F) {
	f.Add([]byte(`{"attempt":1,"rank":0}`))
	f.Add([]byte(`{"attempt":2,"rank":3,"firstStep":11,"lastStep":12,"startMilliseconds":900,` +
		`"stepMilliseconds":5,"steps":[{"step":11,"loss":"0.5","batch":"ab"},{"step":12}],"loaded":true,` +
		`"loadedOther":"attempt-1/step-5","weights":"ab","wrote":true,"outsidePath":"/tmp/a","outsideBytes":7}`))
	f.Add([]byte(`{"attempt":4,"rank":0,"saves":2,"saveMilliseconds":70,"cutOffPath":"attempt-4/step-9",` +
		`"cutOffMilliseconds":30,"cutOffTries":1,"before":{"complete":3,"strayFiles":1,"cutOffComplete":true},` +
		`"after":{"complete":0}}`))
	f.Add([]byte(`{"attempt":1,"rank":0,"steps":[{"step":1,"loss":` + strings.Repeat("[", 200)))
	f.Fuzz(func(t *testing.T, data []byte) {
		cheap(t, len(data), nil, func() {
			trace, err := ParseTrace(data)
			if err != nil {
				return
			}
			if len(trace.Steps) > MaxTracedSteps {
				t.Fatalf("%d steps", len(trace.Steps))
			}
			again, err := Encode(trace)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ParseTrace(again); err != nil || !reflect.DeepEqual(got, trace) {
				t.Fatalf("%s became %s: %v", data, again, err)
			}
		})
	})
}

func FuzzURI(f *testing.F) {
	for _, s := range []string{
		"pvc://claim/a/b", "s3://bucket/%2e%2e/a", "abfss://c@acct.dfs.core.windows.net/a",
		"az://acct/cont/..", "pvc://c/\\..\\",
	} {
		f.Add(s)
	}
	base, _ := ParseURI("pvc://claim/jobs/bert")
	m := Mount{Dir: "/checkpoints", URI: base}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURI(s)
		if err != nil {
			return
		}
		if again, err := ParseURI(u.String()); err != nil || again != u {
			t.Fatalf("%q became %v, %v", u, again, err)
		}
		p, err := m.PathOf(u)
		isBelow := p == "/checkpoints" || strings.HasPrefix(p, "/checkpoints/")
		if err == nil && (strings.Contains(p+"/", "/../") || !isBelow) {
			t.Fatalf("%q leads to %q", s, p)
		}
	})
}

func FuzzPickle(f *testing.F) {
	f.Add(realMetadata(f, "2"))
	f.Add(realMetadata(f, "4"))
	f.Add(pickle2(map[string]int64{"dp_world_size": 2}))
	f.Add([]byte("cos\nsystem\n(S'x'\ntR."))
	f.Add([]byte("(((((1112u"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cheap(t, len(data), nil, func() {
			pickledInts(bytes.NewReader(data), "dp_world_size")
			s := &scanner{fsys: tree{".metadata": data}.fs()}
			s.dcpFiles(".metadata")
		})
	})
}

// FuzzFormats gives every check a file of a head, a tail and nothing in between, of any size.
func FuzzFormats(f *testing.F) {
	for _, data := range [][]byte{
		torchSave(nil), kerasOf(), safetensorsOf(weights), hdf5Of(0), hdf5Of(3), ocdbtOf(),
		tfIndex(2, 320, 320), []byte("PK\x01\x02"),
	} {
		f.Add(data, []byte{}, int64(0))
		f.Add(data[:len(data)/2], data[len(data)/2:], int64(0))
		f.Add(data, zipEnd(1<<30-98, 1<<33, 4096, 0), int64(1<<30))
	}
	f.Fuzz(func(t *testing.T, head, tail []byte, size int64) {
		known := len(head) + len(tail)
		file := &sparse{head: head, tail: tail, size: max(size, int64(known))}
		if file.size == 0 {
			return
		}
		for _, check := range []func(io.ReaderAt, int64) error{
			checkZip, checkKeras, checkSafetensors, checkHDF5, checkOCDBT,
			func(r io.ReaderAt, n int64) error { _, err := torchInts(r, n, "global_step"); return err },
			func(r io.ReaderAt, n int64) error {
				ends, err := bundleEnds(r, n)
				if err == nil && len(ends) == 0 {
					t.Fatal("an index without shards")
				}
				return err
			},
		} {
			file.read = 0
			cheap(t, known, &file.read, func() { check(file, file.size) })
		}
	})
}

// FuzzZip: what archive/zip writes is read as it was written.
func FuzzZip(f *testing.F) {
	f.Add("archive/data.pkl", "x", []byte("content"), "a comment")
	f.Add("", "config.json", []byte{}, "PK\x05\x06")
	f.Fuzz(func(t *testing.T, first, second string, content []byte, comment string) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range []string{first, second} {
			m, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
			if err != nil {
				return
			}
			if _, err := m.Write(content); err != nil {
				return // a directory
			}
		}
		if w.SetComment(comment) != nil || w.Close() != nil {
			return
		}
		var names []string
		r := bytes.NewReader(b.Bytes())
		err := zipMembers(r, r.Size(), func(m zipMember) bool {
			names = append(names, m.name)
			body, err := m.open(r)
			if err != nil {
				t.Fatalf("%q: %v", m.name, err)
			}
			got, err := io.ReadAll(body)
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("%q holds %q, %v; want %q", m.name, got, err, content)
			}
			return true
		})
		// A comment may look like the end of a zip. Then anything may be found, but nothing may go wrong.
		if !strings.Contains(comment, "PK") && (err != nil || !slices.Equal(names, []string{first, second})) {
			t.Fatalf("found %q, %v; want %q and %q", names, err, first, second)
		}
	})
}

// FuzzJSON: of an object that encoding/json accepts, the number is found that encoding/json finds.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"epoch": 1.5, "log_history": [{"step": 7}], "step": 5}`))
	f.Add([]byte(`{"step": [1], "a": {"step": 2}}`))
	f.Add(safetensorsOf(weights)[8:])
	f.Add(nested(100)[8:])
	f.Fuzz(func(t *testing.T, data []byte) {
		cheap(t, len(data), nil, func() {
			got, err := jsonInt(bytes.NewReader(data), "step")
			lastOffset(bytes.NewReader(data))
			var want map[string]json.RawMessage
			if err != nil || json.Unmarshal(data, &want) != nil {
				return
			}
			n, intErr := strconv.ParseInt(string(want["step"]), 10, 64)
			if intErr == nil && got != n {
				t.Fatalf("got %d of %s", got, data)
			}
		})
	})
}

// FuzzStepOf: a step is a number that stands in the name, and what is added to a date is still no step.
func FuzzStepOf(f *testing.F) {
	for _, name := range []string{"step-100", "20261121-235900", "checkpoint-5", "epoch=1-step=2-v1.ckpt"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		step := stepOf(name)
		if step < noStep || step >= 0 && !strings.Contains(name, strconv.FormatInt(step, 10)) {
			t.Fatalf("stepOf(%q) = %d", name, step)
		}
		if !namedStep.MatchString(name) && stepOf(name+"2026-11-30") != noStep &&
			!namedStep.MatchString(name+"2026-11-30") {
			t.Fatalf("%q has a step", name+"2026-11-30")
		}
	})
}

// checkFound is what holds for every result of a scan.
func checkFound(t *testing.T, found []Found) {
	t.Helper()
	for _, fd := range found {
		if fd.State == Complete && fd.Step < 0 || fd.State != Complete && fd.Why == "" ||
			!isFile(fd.Path) && fd.Path != "." || fd.Unordered && (fd.State != Unknown || fd.Step >= 0) {
			t.Fatalf("%+v", fd)
		}
	}
	if c := Choose(found, nil); c.Found != nil && c.Found.State != Complete && !c.Found.Unordered {
		t.Fatalf("resumes from %+v", c.Found)
	}
	for _, gone := range Retain(found, Keep{Last: 1, Attempt: 1}) {
		if gone.Step < 0 || gone.Path == "." || gone.State == Unknown {
			t.Fatalf("deletes %+v of %+v", gone, found)
		}
	}
}

// FuzzScan puts any file at any path. No incomplete checkpoint may become complete because of it.
func FuzzScan(f *testing.F) {
	f.Add("checkpoint-1/trainer_state.json", []byte(`{"global_step":1}`))
	f.Add("latest", []byte("global_step3"))
	f.Add("latest_checkpointed_iteration.txt", []byte("-5"))
	f.Add("checkpoint", []byte(`model_checkpoint_path: "../x"`))
	f.Add("5/_CHECKPOINT_METADATA", []byte(`{"commit_timestamp_nsecs":1,"item_handlers":{"..":1}}`))
	f.Add("s-1/"+ManifestName, []byte(`{"version":1,"step":1,"files":[{"name":"a","size":0}]}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if !isFile(name) || strings.Contains(name, "\\") {
			return
		}
		cheap(t, len(name)+len(data), nil, func() {
			found, err := Scan(tree{name: data}.fs(), ".", Options{Sums: true})
			if err == nil {
				checkFound(t, found)
			}
		})
	})
}

// FuzzLayouts takes a whole checkpoint of many files beside an older one, and replaces, loses or moves some.
// What remains may be judged in any way but one: with a file cut short that the layout checks, it is not
// complete.
func FuzzLayouts(f *testing.F) {
	all := fixtures()
	names := slices.Sorted(maps.Keys(all))
	for i := range names {
		f.Add(uint8(i), uint8(0), []byte("other"), uint8(1), uint16(3), "step-5")
	}
	f.Fuzz(func(t *testing.T, which, replaced uint8, data []byte, lost uint8, cut uint16, moved string) {
		fx := all[names[int(which)%len(names)]]
		files := fx.files.names()
		pick := func(n uint8) string { return files[int(n)%len(files)] }
		damaged := fx.files.with(pick(replaced), append([]byte{}, data...))
		if lost%3 == 0 {
			damaged = damaged.with(pick(lost), nil)
		}
		if isFile(moved) && !strings.Contains(moved, "\\") {
			damaged = damaged.under(moved)
		}
		cheap(t, 1<<16+len(data), nil, func() {
			if found, err := Scan(damaged.and(fx.older).fs(), ".", Options{Sums: true}); err == nil {
				checkFound(t, found)
			}
		})
		file := pick(lost)
		if _, loose := fx.loose[file]; loose || len(fx.files[file]) == 0 {
			return
		}
		short := fx.files[file][:int(cut)%len(fx.files[file])]
		found, err := Scan(fx.files.with(file, append([]byte{}, short...)).fs(), ".", Options{Sums: true})
		if got := at(found, fx.path); err == nil && got.State == Complete {
			t.Fatalf("%s of %s is cut to %d bytes, and it is called complete", file, fx.layout, len(short))
		}
	})
}
