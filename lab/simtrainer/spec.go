package simtrainer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// OnSIGTERM is what a trainer does when it is asked to end.
type OnSIGTERM string

const (
	// Save: it saves within its grace and exits with code 0.
	Save OnSIGTERM = "save"
	// Die: it ends at once; what it has trained since its last checkpoint is lost.
	Die OnSIGTERM = "die"
	// Ignore: it trains on until it is killed.
	Ignore OnSIGTERM = "ignore"
	// SaveUnheard: it saves as with Save, but is killed together with its agent before anybody hears of it: neither a last report nor a
	// last word follows. The same where a command ends it.
	SaveUnheard OnSIGTERM = "save-unheard"
)

// Spec is how a trainer behaves, as its annotation says.
type Spec struct {
	// Steps of the whole training, over all attempts.
	Steps int64 `json:"steps"`
	// Rate in steps per second.
	Rate float64 `json:"rate"`
	// Every so often it saves; 0: as CHECKPOINT_INTERVAL_SECONDS says.
	Every time.Duration `json:"every,omitempty"`
	// Save is how long a save takes. No step is trained meanwhile.
	Save time.Duration `json:"save"`
	// Start is how long it takes from the start of the last rank to the first step.
	Start     time.Duration `json:"start"`
	OnSIGTERM OnSIGTERM     `json:"onSIGTERM"`
	// IgnoreResume: it begins at step 0, whatever it is told to resume from.
	IgnoreResume bool `json:"ignoreResume,omitempty"`
	// FailAt is the step after which it fails with ExitCode, in attempts up to FailAttempts; 0: it does not fail, 0 attempts: all.
	FailAt       int64 `json:"failAt,omitempty"`
	ExitCode     int32 `json:"exitCode,omitempty"`
	FailAttempts int32 `json:"failAttempts,omitempty"`
	// StallAfter so many steps of each attempt it trains no more, and saves no more by itself: until its annotation says something else.
	// 0: it never stalls.
	StallAfter int64 `json:"stallAfter,omitempty"`
	// TornAt: the first save at or after this step never becomes complete; 0: none.
	TornAt int64 `json:"tornAt,omitempty"`
}

// keys of the annotation, each with how it is read.
var keys = map[string]func(*Spec, string) error{
	"steps": func(s *Spec, v string) (err error) { s.Steps, err = whole(v, 1, 1<<53); return },
	"rate":  func(s *Spec, v string) (err error) { s.Rate, err = number(v, 0.001, 1e6); return },
	"every": func(s *Spec, v string) (err error) {
		s.Every, err = duration(v, 100*time.Millisecond, 7*24*time.Hour)
		return
	},
	"save":  func(s *Spec, v string) (err error) { s.Save, err = duration(v, 0, time.Hour); return },
	"start": func(s *Spec, v string) (err error) { s.Start, err = duration(v, 0, time.Hour); return },
	"on-sigterm": func(s *Spec, v string) error {
		s.OnSIGTERM = OnSIGTERM(v)
		if !slices.Contains([]OnSIGTERM{Save, Die, Ignore, SaveUnheard}, s.OnSIGTERM) {
			return fmt.Errorf("write %s, %s, %s or %s", Save, Die, Ignore, SaveUnheard)
		}
		return nil
	},
	"ignore-resume": func(s *Spec, v string) error {
		s.IgnoreResume = v == "true"
		if v != "true" && v != "false" {
			return fmt.Errorf("write true or false")
		}
		return nil
	},
	"fail-at":       func(s *Spec, v string) (err error) { s.FailAt, err = whole(v, 1, 1<<53); return },
	"exit-code":     func(s *Spec, v string) error { n, err := whole(v, 1, 255); s.ExitCode = int32(n); return err },
	"fail-attempts": func(s *Spec, v string) error { n, err := whole(v, 1, 1e6); s.FailAttempts = int32(n); return err },
	"stall-after":   func(s *Spec, v string) (err error) { s.StallAfter, err = whole(v, 1, 1<<53); return },
	"torn-at":       func(s *Spec, v string) (err error) { s.TornAt, err = whole(v, 1, 1<<53); return },
}

// keyNames in the order in which they are documented.
var keyNames = []string{
	"steps", "rate", "every", "save", "start", "on-sigterm", "ignore-resume", "fail-at", "exit-code", "fail-attempts", "stall-after", "torn-at",
}

// ParseSpec reads an annotation, or says what is wrong with it and what to write.
func ParseSpec(text string) (Spec, error) {
	spec := Spec{Rate: 10, Save: time.Second, Start: time.Second, OnSIGTERM: Save}
	seen := map[string]bool{}
	for _, field := range strings.Fields(text) {
		key, value, ok := strings.Cut(field, "=")
		read := keys[key]
		switch {
		case !ok:
			return Spec{}, fmt.Errorf("%q is no key=value: write for example \"steps=2000 rate=50 every=10s save=2s\"", field)
		case read == nil:
			return Spec{}, fmt.Errorf("%q is unknown: use %s", key, strings.Join(keyNames, ", "))
		case seen[key]:
			return Spec{}, fmt.Errorf("%s is there twice: give it once", key)
		}
		seen[key] = true
		if err := read(&spec, value); err != nil {
			return Spec{}, fmt.Errorf("%s is %q: %w", key, value, err)
		}
	}
	switch {
	case !seen["steps"]:
		return Spec{}, fmt.Errorf("steps is missing: write steps=<how many steps the whole training has>")
	case spec.FailAt == 0 && (seen["exit-code"] || seen["fail-attempts"]):
		return Spec{}, fmt.Errorf("fail-at is missing: exit-code and fail-attempts say how the trainer fails there")
	case spec.FailAt > spec.Steps:
		return Spec{}, fmt.Errorf("fail-at is %d, beyond steps=%d: give a step that is trained", spec.FailAt, spec.Steps)
	case spec.TornAt > spec.Steps:
		return Spec{}, fmt.Errorf("torn-at is %d, beyond steps=%d: give a step that is trained", spec.TornAt, spec.Steps)
	case spec.FailAt > 0 && spec.ExitCode == 0:
		spec.ExitCode = 1
	}
	return spec, nil
}

func whole(text string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("give a whole number from %d to %d", low, high)
	}
	return n, nil
}

func number(text string, low, high float64) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= low && n <= high) { // NaN is neither
		return 0, fmt.Errorf("give a number from %g to %g", low, high)
	}
	return n, nil
}

func duration(text string, low, high time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < low || d > high {
		return 0, fmt.Errorf("give a time from %s to %s, such as 2s or 1m30s", low, high)
	}
	return d, nil
}
