package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestCleanTexts: a text stays readable, and databases accept it.
func TestCleanTexts(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":           {"", ""},
		"ordinary":        {"ann@a.com", "ann@a.com"},
		"at the limit":    {strings.Repeat("a", 10), strings.Repeat("a", 10)},
		"NUL":             {"a\x00b", "a\uFFFDb"},
		"invalid UTF-8":   {"a\xffb", "a\uFFFDb"},
		"too long":        {strings.Repeat("a", 11), "aaaaaaa…"},
		"cut in a letter": {strings.Repeat("é", 6), "ééé…"},
		"made longer":     {strings.Repeat("\x00", 4), "\uFFFD\uFFFD…"},
	} {
		if cleanTexts(10, &tc.text); tc.text != tc.want {
			t.Errorf("%s: %q, want %q", name, tc.text, tc.want)
		}
	}
}

// TestCleanCoversEveryText fills every text of a record, also of fields that are added later.
func TestCleanCoversEveryText(t *testing.T) {
	var r Record
	hostile := "\x00\xff" + strings.Repeat("x", 10_000)
	fill(reflect.ValueOf(&r).Elem(), hostile)
	r.Job.Key, r.Job.Manifest = Key{Cluster: "lab", UID: "1"}, json.RawMessage(`{}`)
	clean(&r)
	n := 0
	eachText(reflect.ValueOf(r), "", func(path, text string) {
		n++
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") || len(text) > maxMessageBytes {
			t.Errorf("%s has %d bytes: %.20q", path, len(text), text)
		}
	})
	if n < 20 {
		t.Errorf("only %d texts were found", n)
	}
}

// fill sets every text below a value, with one entry in each list.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(text), reflect.ValueOf(text))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[metav1.Time]() {
			return
		}
		for _, field := range v.Fields() {
			fill(field, text)
		}
	}
}

// eachText calls fn for every text below a value.
func eachText(v reflect.Value, path string, fn func(path, text string)) {
	switch v.Kind() {
	case reflect.String:
		fn(path, v.String())
	case reflect.Pointer:
		eachText(v.Elem(), path, fn)
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), fmt.Sprintf("%s[%d]", path, i), fn)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			eachText(key, path+" key", fn)
			eachText(v.MapIndex(key), path+" value", fn)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[metav1.Time]() {
			return
		}
		for field, value := range v.Fields() {
			eachText(value, path+"."+field.Name, fn)
		}
	}
}

// TestHostileJob: a record of a job with hostile texts and times is clean, and can be encoded.
func TestHostileJob(t *testing.T) {
	long := strings.Repeat("ü", 3_000)
	late := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("west", -12*3600))
	job := version(1, v1alpha1.TrainingJobStatus{
		Phase: v1alpha1.PhaseRunning, Attempt: 1, Message: "a\x00b" + long,
		CompletionTime: &metav1.Time{Time: late},
		Transitions: []v1alpha1.Transition{
			entry(0, v1alpha1.PhaseQueued, long+"1"), entry(0, v1alpha1.PhaseQueued, long+"2"),
			entry(1, v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning),
		},
	})
	job.Annotations = map[string]string{"owner": "\x00" + long}
	r := Of("lab", job, options)
	if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), `\u0000b`) {
		t.Errorf("%.200s, %v", text, err)
	}
	user := r.Job.User
	if n := len(user); n > maxNameBytes || n < maxNameBytes-5 || !strings.HasPrefix(user, "\uFFFDü") {
		t.Errorf("%d bytes of %.10q", n, user)
	}
	if compacted := slices.Compact(slices.Clone(r.Transitions)); len(compacted) != len(r.Transitions) {
		t.Errorf("a transition is there twice: %d", len(r.Transitions))
	}
	if diff := cmp.Diff(Merge(r, r), r); diff != "" {
		t.Error(diff)
	}
}
