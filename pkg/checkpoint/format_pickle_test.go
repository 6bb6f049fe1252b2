package checkpoint

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// realMetadata is what CPython 3.11 pickled from classes with the names and fields of
// torch.distributed.checkpoint (testdata/metadata.py), compressed with zlib and encoded in base64. It is the
// one fixture that Python wrote.
func realMetadata(t testing.TB, protocol string) []byte {
	text, err := os.ReadFile("testdata/metadata-protocol-" + protocol + ".b64")
	if err != nil {
		t.Fatal(err)
	}
	z, err := zlib.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRealMetadata(t *testing.T) {
	want := map[string]int64{"__0_0.distcp": 84000, "__1_0.distcp": 13000, "__2_0.distcp": 13000}
	for _, protocol := range []string{"2", "4"} {
		data := realMetadata(t, protocol)
		s := &scanner{fsys: tree{".metadata": data}.fs()}
		got, _, err := s.dcpFiles(".metadata")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("protocol %s: %v (-want +got):\n%s", protocol, err, diff)
		}
		for cut := 0; cut < len(data); cut += 11 {
			s := &scanner{fsys: tree{".metadata": data[:cut]}.fs()}
			var incomplete *incompleteError
			if _, _, err := s.dcpFiles(".metadata"); !errors.As(err, &incomplete) || incomplete.state != Torn {
				t.Fatalf("protocol %s, cut at %d of %d: %v", protocol, cut, len(data), err)
			}
		}
	}
}

// A pickle that would run a command in Python yields an opaque value.
func TestPicklesAreNotExecuted(t *testing.T) {
	for _, evil := range []string{
		"cos\nsystem\n(S'touch /tmp/owned'\ntR.", "cposix\nsystem\nX\x05\x00\x00\x00touch\x85R.",
		"(S'touch'\nios\nsystem\n.",
	} {
		if got, err := pickledInts(strings.NewReader(evil), "a"); err != nil || len(got) != 0 {
			t.Errorf("%q: %v, %v", evil, got, err)
		}
	}
}

// 200,000 opaque values are not kept in memory.
func TestLargePicklesCostLittle(t *testing.T) {
	unit := "X\x0b\x00\x00\x00layer.weight"[:16] + "q\x01" + "K\x050" + "0"
	body := io.MultiReader(
		strings.NewReader("\x80\x02"), io.LimitReader(repeat(unit), int64(len(unit))*200_000),
		strings.NewReader("}X\x01\x00\x00\x00aK\x07s."),
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := pickledInts(body, "a")
	runtime.ReadMemStats(&after)
	if err != nil || got["a"] != 7 {
		t.Fatalf("%v, %v", got, err)
	}
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 64<<20 {
		t.Errorf("%d bytes were allocated and not collected", held)
	}
}

type repeater struct {
	unit string
	at   int
}

func repeat(unit string) io.Reader { return &repeater{unit: unit} }

func (r *repeater) Read(b []byte) (int, error) {
	n := copy(b, r.unit[r.at:])
	r.at = (r.at + n) % len(r.unit)
	return n, nil
}
