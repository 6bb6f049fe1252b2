package agent

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func resolve(t *testing.T, args ...string) (int, *checkpoint.Report, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main(append([]string{"resolve"}, args...), os.Getenv, &out, &errs)
	if out.Len() == 0 {
		return code, nil, errs.String()
	}
	r, err := checkpoint.ParseReport(bytes.TrimSpace(out.Bytes()))
	if err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return code, r, errs.String()
}

func TestResolve(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	save(filepath.Join(one, "attempt-1"), 100, "x")
	save(filepath.Join(one, "attempt-2"), 200, "x")
	save(filepath.Join(two, "attempt-2"), 300, "x")
	os.Remove(filepath.Join(two, "attempt-2/step-300/model.pt"))
	word := filepath.Join(t.TempDir(), "termination")
	op := newOperator(t, noCommand)
	dir := t.TempDir()
	code, r, errs := resolve(t, "--volume", one+"=pvc://claim/bert", "--volume", two+"=pvc://other/bert",
		"--attempt", "3", "--termination-log", word,
		"--report-url", op.URL, "--token-file", writeFile(t, filepath.Join(dir, "token"), "t"), "--ca-file",
		writeFile(t, filepath.Join(dir, "ca"), caOf(op.Server)))
	if code != 0 || r.Phase != checkpoint.PhaseResolved || r.Attempt != 3 || r.Checkpoint == nil ||
		r.Checkpoint.URI != "pvc://claim/bert/attempt-2/step-200" ||
		len(r.PassedOver) != 1 || r.PassedOver[0].URI != "pvc://other/bert/attempt-2/step-300" {
		t.Errorf("code %d, %+v, %s", code, r, errs)
	}
	left, err := checkpoint.ParseTermination([]byte(read(t, word)))
	if err != nil || left.Reason != checkpoint.ExitResolved || left.Checkpoint.Step != 200 ||
		len(left.PassedOver) != 1 {
		t.Errorf("%+v, %v", left, err)
	}
	if got := op.last(); got.Phase != checkpoint.PhaseResolved || got.Checkpoint == nil ||
		got.Checkpoint.Step != 200 {
		t.Errorf("posted %+v", got)
	}
}

// TestResolveSelects: --branch, --older-than and --only say which checkpoints may be chosen.
func TestResolveSelects(t *testing.T) {
	dir := t.TempDir()
	save(filepath.Join(dir, "attempt-1"), 100, "x")
	save(filepath.Join(dir, "attempt-1"), 200, "x")
	os.Remove(filepath.Join(dir, "attempt-1/step-200/model.pt"))
	save(filepath.Join(dir, "attempt-1"), 300, "x")
	save(filepath.Join(dir, "attempt-3"), 150, "x")
	for args, want := range map[string]int64{
		"":                               300,
		"--older-than=300":               150,
		"--older-than=100":               300, // nothing is older
		"--branch=3:100":                 150,
		"--branch=4:120":                 100,
		"--branch=3:100 --older-than=50": 150,
		"--only=100":                     100,
		"--only=200":                     -1,
		"--only=250":                     -1,
		"--only=pvc://claim/bert/attempt-1/step-300":                300,
		"--only=pvc://claim/bert/attempt-1/step-3":                  -1,
		"--only=pvc://other/bert/attempt-1/step-300":                -1,
		"--branch=3:100 --only=pvc://claim/bert/attempt-1/step-300": 300,
	} {
		all := append([]string{"--volume", dir + "=pvc://claim/bert", "--termination-log", ""},
			strings.Fields(args)...)
		code, r, errs := resolve(t, all...)
		if code != 0 || r == nil {
			t.Fatalf("%s: %d, %s", args, code, errs)
		}
		got := int64(-1)
		if r.Checkpoint != nil {
			got = r.Checkpoint.Step
		}
		if got != want {
			t.Errorf("%s: step %d, want %d", args, got, want)
		}
		if args == "--only=200" && (len(r.PassedOver) != 1 || !strings.HasSuffix(r.PassedOver[0].URI, "step-200")) {
			t.Errorf("%s: passed over %+v", args, r.PassedOver)
		}
	}
}

func TestResolveComparesSums(t *testing.T) {
	dir := t.TempDir()
	save(dir, 100, "x")
	save(dir, 200, "x")
	m := checkpoint.Manifest{Version: 1, Step: 200,
		Files: []checkpoint.File{{Name: "model.pt", Size: 1, SHA256: hex.EncodeToString(make([]byte, 32))}}}
	data, _ := checkpoint.Encode(m)
	writeFile(t, filepath.Join(dir, "step-200", checkpoint.ManifestName), string(data))
	if _, r, _ := resolve(t, "--volume", dir, "--termination-log", ""); r.Checkpoint.Step != 100 ||
		len(r.PassedOver) != 1 {
		t.Errorf("%+v", r)
	}
	if _, r, _ := resolve(t, "--volume", dir, "--termination-log", "",
		"--sums=false"); r.Checkpoint.Step != 200 {
		t.Errorf("%+v", r)
	}
}

func TestResolveWithoutCheckpoint(t *testing.T) {
	if code, r, errs := resolve(t, "--volume", t.TempDir(), "--termination-log", ""); code != 0 || r == nil ||
		r.Checkpoint != nil {
		t.Errorf("an empty volume is a result: %d, %+v, %s", code, r, errs)
	}
	if code, r, errs := resolve(t, "--volume", filepath.Join(t.TempDir(), "bert-0a1b2c3d"),
		"--termination-log", ""); code != 0 || r == nil || r.Checkpoint != nil {
		t.Errorf("a directory that no trainer has made yet is empty: %d, %+v, %s", code, r, errs)
	}
	word := filepath.Join(t.TempDir(), "termination")
	code, r, errs := resolve(t, "--volume", "/no/such/volume", "--termination-log", word)
	if code != 1 || r != nil || !strings.Contains(errs, "/no/such/volume") {
		t.Errorf("a volume that is not there is none: %d, %+v, %s", code, r, errs)
	}
	if left, err := checkpoint.ParseTermination([]byte(read(t, word))); err != nil ||
		left.Reason != checkpoint.ExitFailed || left.Problem == "" {
		t.Errorf("%+v, %v", left, err)
	}
}

func TestInvalidOptions(t *testing.T) {
	env := func(string) string { return "" }
	for want, args := range map[string][]string{
		"no command":     {},
		"use https":      {"--report-url", "http://a", "--token-file", "t", "--", "x"},
		"no token-file":  {"--report-url", "https://a", "--", "x"},
		"attempt is":     {"--attempt", "0", "--", "x"},
		"grace is":       {"--grace", "soon", "--", "x"},
		"clean absolute": {"--dir", "/a/../b", "--", "x"},
		"has ..":         {"--uri", "pvc://a/..", "--", "x"},
		"scheme http":    {"--dir", "http://a/b", "--", "x"},
		"use USR1":       {"--checkpoint-signal", "KILL", "--", "x"},
		"give a longer":  {"--poll", "0s", "--", "x"},
	} {
		if _, err := parseRun(args, env, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q, got %v", args, want, err)
		}
	}
}

func TestTerminationMessageIsBounded(t *testing.T) {
	long := strings.Repeat("é\x00\xff<", 3000)
	word := checkpoint.Termination{Reason: checkpoint.ExitSignaled, ExitCode: 139,
		Problem: checkpoint.Printable(long, 512), Log: long[len(long)-tailBytes:]}
	for range 8 {
		word.PassedOver = append(word.PassedOver, checkpoint.Passed{URI: strings.Repeat("a", 1024),
			Why: strings.Repeat("b", 256)})
	}
	path := filepath.Join(t.TempDir(), "termination")
	if err := writeTermination(path, word); err != nil {
		t.Fatal(err)
	}
	data := read(t, path)
	got, err := checkpoint.ParseTermination([]byte(data))
	if err != nil || len(data) > checkpoint.MaxTerminationBytes || got.ExitCode != 139 ||
		len(got.PassedOver) == 0 {
		t.Errorf("%d bytes, %+v, %v", len(data), got, err)
	}
	// What the trainer wrote there itself is kept.
	writeFile(t, path, "CUDA error: out of memory")
	if err := writeTermination(path, checkpoint.Termination{Reason: checkpoint.ExitExited, ExitCode: 1,
		Log: "tail"}); err != nil {
		t.Fatal(err)
	}
	if got, err := checkpoint.ParseTermination([]byte(read(t, path))); err != nil ||
		got.Log != "CUDA error: out of memory" {
		t.Errorf("%+v, %v", got, err)
	}
}
