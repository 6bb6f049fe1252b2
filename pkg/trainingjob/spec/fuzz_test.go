package spec

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// FuzzQueue: whatever names a queue and a scheduler, one of the names that were given is taken, the spec's
// before the label and the annotation, and a job of Kueue's never leaves it by accident.
func FuzzQueue(f *testing.F) {
	for _, seed := range [][4]string{
		{}, {"a", "", "", ""}, {"", "b", "", "volcano"}, {"", "", "c", "kueue"}, {"a", "b", "c", "native"},
		{"", "\x1b[2J", "../root", "yunikorn"}, {"\xff", " ", "", "*"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, inSpec, label, annotation, operatorDefault string) {
		job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{v1alpha1.LabelKueueQueue: label},
			Annotations: map[string]string{v1alpha1.AnnotationVolcanoQueue: annotation},
		}}
		job.Spec.RunPolicy.SchedulingPolicy.Queue = inSpec
		given := []string{inSpec, label, annotation}
		first := slices.IndexFunc(given, func(s string) bool { return s != "" })
		if got := Queue(job); first < 0 && got != "" || first >= 0 && got != given[first] {
			t.Fatalf("of %q the queue %q is taken", given, got)
		}
		available := []string{"kueue", "volcano"}
		got := ChooseScheduler(job, operatorDefault, available)
		switch {
		case label != "" && got != "kueue":
			t.Fatalf("a job with Kueue's label %q is given to %q", label, got)
		case label == "" && operatorDefault != "" && got != operatorDefault:
			t.Fatalf("default %q, but it is given to %q", operatorDefault, got)
		case label == "" && operatorDefault == "" && got != "volcano":
			t.Fatalf("it is given to %q", got)
		}
	})
}

// FuzzIndexes: what a status holds is read without taking more memory than a job has ranks, and what was
// read is written and read again as the same.
func FuzzIndexes(f *testing.F) {
	for _, seed := range []string{
		"", "0", "0-3,7", "x,2-y,4", "0-2147483647", "-1", "3-1", "9999,0-9999", "0-9999,0-9999,0-9999", "1--2",
		"00-01", "2147483648",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set := ParseIndexes(text)
		if len(set) > maxIndex+1 {
			t.Fatalf("%q has %d indexes", text, len(set))
		}
		var all []int32
		for i := range set {
			if i < 0 || i > maxIndex {
				t.Fatalf("%q has the index %d", text, i)
			}
			all = append(all, i)
		}
		slices.Sort(all)
		again := ParseIndexes(FormatIndexes(all))
		if len(again) != len(set) {
			t.Fatalf("%q has %d indexes, and written again %d", text, len(set), len(again))
		}
	})
}
