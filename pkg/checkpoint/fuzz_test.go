package checkpoint

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
)

// An ordinary test run executes the seeds of the fuzz targets; `go test -fuzz FuzzX ./pkg/checkpoint`
// searches further.

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
		pickledInts(bytes.NewReader(data), "dp_world_size")
		s := &scanner{fsys: tree{".metadata": data}.fs()}
		s.dcpFiles(".metadata")
	})
}

func FuzzFormats(f *testing.F) {
	for _, data := range [][]byte{
		torchSave(nil), kerasOf(), safetensorsOf(weights), hdf5Of(0), hdf5Of(3), ocdbtOf(),
		tfIndex(2, 320, 320),
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, n := bytes.NewReader(data), int64(len(data))
		if n == 0 {
			return
		}
		for _, check := range []func(io.ReaderAt, int64) error{
			checkZip, checkKeras, checkSafetensors, checkHDF5, checkOCDBT,
		} {
			check(r, n)
		}
		torchInts(r, n, "global_step")
		if ends, err := bundleEnds(r, n); err == nil && len(ends) == 0 {
			t.Fatal("an index without shards")
		}
	})
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
		found, err := Scan(tree{name: data}.fs(), ".", Options{Sums: true})
		if err != nil {
			return
		}
		for _, fd := range found {
			if fd.State == Complete && fd.Step < 0 || fd.State != Complete && fd.Why == "" ||
				!isFile(fd.Path) && fd.Path != "." {
				t.Fatalf("%+v", fd)
			}
		}
	})
}
