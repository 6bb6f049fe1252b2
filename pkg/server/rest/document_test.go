package rest

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/openapi.json instead of comparing with it")

const contract = "../../../docs/openapi.json"

// TestContract: docs/openapi.json is what the server serves.
func TestContract(t *testing.T) {
	got, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(contract, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(contract)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run make generate (-docs/openapi.json +the code):\n%s", diff)
	}
	again, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, again) {
		t.Error("it differs from one time to the next")
	}
}
