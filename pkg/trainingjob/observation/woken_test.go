package observation

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func TestWakingIsBounded(t *testing.T) {
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	w, now := Woken{}, begin
	if !w.Due().IsZero() {
		t.Error("the first time is at once")
	}
	var waits []time.Duration
	for range 8 {
		w = w.Again(now)
		waits = append(waits, w.Due().Sub(now))
		now = w.Due()
	}
	want := []time.Duration{10, 20, 40, 80, 160, 300, 300, 300}
	for i, seconds := range want {
		if waits[i] != seconds*time.Second {
			t.Errorf("after time %d it waits %s, want %ds", i+1, waits[i], seconds)
		}
	}
	if got := w.Before(begin); got != (Woken{}) {
		t.Errorf("it was woken in the future: %v", got)
	}
	if got := w.Before(now); got != w {
		t.Errorf("it was woken before, and that is forgotten: %v", got)
	}
	if w = w.Again(now.Add(time.Hour)); w.Times != 1 {
		t.Errorf("after an hour it is another rest, and not time %d", w.Times)
	}
}

func TestWokenIsReadFromWhatWasChanged(t *testing.T) {
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	older, latest := Woken{1, begin}, Woken{3, begin.Add(time.Minute)}
	pod := func(value string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{v1alpha1.AnnotationWoken: value},
		}}
	}
	pods := []*corev1.Pod{
		pod(older.String()), {}, pod(latest.String()), pod("often"), pod("-1 2026-11-21T10:00:00Z"),
	}
	if got := WokenOf(pods); got != latest {
		t.Errorf("got %v, want %v", got, latest)
	}
	if got := WokenOf(pods[3:]); got != (Woken{}) {
		t.Errorf("an edited annotation is not ignored: %v", got)
	}
}
