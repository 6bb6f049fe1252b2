package simtrainer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// OnSIGTERM is what a trainer does on SIGTERM.
type OnSIGTERM string

const (
	// Save: it saves within its grace period and exits with code 0.
	Save OnSIGTERM = "save"
	// Die: it exits at once and loses the steps since its last checkpoint.
	Die OnSIGTERM = "die"
	// Ignore: it trains on until it is killed.
	Ignore OnSIGTERM = "ignore"
	// SaveUnheard: it saves as with Save, but is then killed together with its agent: there is neither a last
	// report nor a termination message. The same happens when a command ends it.
	SaveUnheard OnSIGTERM = "save-unheard"
	// SaveFail: it saves as with Save, and exits with code 1. A command ends it with code 0.
	SaveFail OnSIGTERM = "save-fail"
)

// Spec is what the annotation says about a trainer's behavior.
type Spec struct {
	// Steps of the whole training, over all attempts.
	Steps int64 `json:"steps"`
	// Rate in steps per second.
	Rate float64 `json:"rate"`
	// Every is the interval between two saves; 0: CHECKPOINT_INTERVAL_SECONDS.
	Every time.Duration `json:"every,omitempty"`
	// Save is how long a save takes. No step is trained during it.
	Save time.Duration `json:"save"`
	// Start is the time from the start of the last rank to the first step.
	Start     time.Duration `json:"start"`
	OnSIGTERM OnSIGTERM     `json:"onSIGTERM"`
	// IgnoreResume: it starts at step 0 even if it is given a checkpoint to resume from.
	IgnoreResume bool `json:"ignoreResume,omitempty"`
	// FailAt is the step after which it fails with ExitCode; 0: it does not fail. It fails in the first
	// FailAttempts attempts; 0: in all.
	FailAt       int64 `json:"failAt,omitempty"`
	ExitCode     int32 `json:"exitCode,omitempty"`
	FailAttempts int32 `json:"failAttempts,omitempty"`
	// StallAfter is after how many steps of each attempt it stops training, and saving on its own, until its
	// annotation changes; 0: it never stalls.
	StallAfter int64 `json:"stallAfter,omitempty"`
	// StallAttempts: it stalls in the first of them; 0: in all. StallRank is the rank that the others then wait
	// for, with one step less; without it, all have finished the same step.
	StallAttempts int32        `json:"stallAttempts,omitempty"`
	StallRank     OptionalRank `json:"stallRank,omitzero"`
	// SilentRank sends no beats.
	SilentRank OptionalRank `json:"silentRank,omitzero"`
	// SlowRank computes while the others wait, so that each step takes twice as long.
	SlowRank OptionalRank `json:"slowRank,omitzero"`
	// Pauses without a step, in the order of their steps.
	Pauses [maxPauses]Pause `json:"pauses,omitzero"`
	// TornAt: the first save at or after this step never becomes complete; 0: all become complete.
	TornAt int64 `json:"tornAt,omitempty"`
	// CannotLoad: what attempt 1 saved at or after this step is complete, but cannot be loaded; 0: all can be.
	CannotLoad int64 `json:"cannotLoad,omitempty"`
	// Fault that a rehearsal must find; empty: none of Fault's.
	Fault Fault `json:"fault,omitempty"`
	// Unnamed: it does not report its batches.
	Unnamed bool `json:"unnamed,omitempty"`
}

// OptionalRank is the number of a rank; the zero value is none.
type OptionalRank struct {
	Set    bool  `json:"set"`
	Number int32 `json:"number"`
}

func (r OptionalRank) is(number int32) bool { return r.Set && r.Number == number }

const maxPauses = 4

// Pause is a time without a step, after each time that a step is trained. Phase is what the trainer calls it.
type Pause struct {
	Phase  checkpoint.Phase `json:"phase"`
	Step   int64            `json:"step"`
	Length time.Duration    `json:"length"`
}

// keys of the annotation, each with its parser.
var keys = map[string]func(*Spec, string) error{
	"steps": func(s *Spec, v string) (err error) { s.Steps, err = parseWhole(v, 1, 1<<53); return },
	"rate":  func(s *Spec, v string) (err error) { s.Rate, err = parseNumber(v, 0.001, 1e6); return },
	"every": func(s *Spec, v string) (err error) {
		s.Every, err = parseDuration(v, 100*time.Millisecond, 7*24*time.Hour)
		return
	},
	"save":  func(s *Spec, v string) (err error) { s.Save, err = parseDuration(v, 0, time.Hour); return },
	"start": func(s *Spec, v string) (err error) { s.Start, err = parseDuration(v, 0, 24*time.Hour); return },
	"on-sigterm": func(s *Spec, v string) error {
		s.OnSIGTERM = OnSIGTERM(v)
		if !slices.Contains([]OnSIGTERM{Save, Die, Ignore, SaveUnheard, SaveFail}, s.OnSIGTERM) {
			return fmt.Errorf("write %s, %s, %s, %s or %s", Save, Die, Ignore, SaveUnheard, SaveFail)
		}
		return nil
	},
	"ignore-resume": func(s *Spec, v string) (err error) { s.IgnoreResume, err = parseBool(v); return },
	"fail-at":       func(s *Spec, v string) (err error) { s.FailAt, err = parseWhole(v, 1, 1<<53); return },
	"exit-code": func(s *Spec, v string) error {
		n, err := parseWhole(v, 1, 255)
		s.ExitCode = int32(n)
		return err
	},
	"fail-attempts": func(s *Spec, v string) error {
		n, err := parseWhole(v, 1, 1e6)
		s.FailAttempts = int32(n)
		return err
	},
	"stall-after": func(s *Spec, v string) (err error) { s.StallAfter, err = parseWhole(v, 1, 1<<53); return },
	"stall-attempts": func(s *Spec, v string) error {
		n, err := parseWhole(v, 1, 1e6)
		s.StallAttempts = int32(n)
		return err
	},
	"stall-rank":  func(s *Spec, v string) (err error) { s.StallRank, err = parseRank(v); return },
	"silent-rank": func(s *Spec, v string) (err error) { s.SilentRank, err = parseRank(v); return },
	"slow-rank":   func(s *Spec, v string) (err error) { s.SlowRank, err = parseRank(v); return },
	"phases":      func(s *Spec, v string) (err error) { s.Pauses, err = parsePauses(v); return },
	"torn-at":     func(s *Spec, v string) (err error) { s.TornAt, err = parseWhole(v, 1, 1<<53); return },
	"cannot-load": func(s *Spec, v string) (err error) { s.CannotLoad, err = parseWhole(v, 1, 1<<53); return },
	"fault":       func(s *Spec, v string) (err error) { s.Fault, err = parseFault(v); return },
	"unnamed":     func(s *Spec, v string) (err error) { s.Unnamed, err = parseBool(v); return },
}

// keyNames lists the keys in the order in which they are documented.
var keyNames = []string{
	"steps", "rate", "every", "save", "start", "on-sigterm", "ignore-resume",
	"fail-at", "exit-code", "fail-attempts", "stall-after", "stall-attempts", "stall-rank", "silent-rank",
	"slow-rank", "phases", "torn-at", "cannot-load", "fault", "unnamed",
}

// ParseSpec parses an annotation. Its errors say what to write instead.
func ParseSpec(text string) (Spec, error) {
	spec := Spec{Rate: 10, Save: time.Second, Start: time.Second, OnSIGTERM: Save}
	seen := map[string]bool{}
	for _, field := range strings.Fields(text) {
		key, value, ok := strings.Cut(field, "=")
		read := keys[key]
		switch {
		case !ok:
			return Spec{}, fmt.Errorf(
				"%q is no key=value: write for example \"steps=2000 rate=50 every=10s save=2s\"", field)
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
		return Spec{}, errors.New("steps is missing: write steps=<how many steps the whole training has>")
	case spec.FailAt == 0 && (seen["exit-code"] || seen["fail-attempts"]):
		return Spec{}, errors.New("fail-at is missing: exit-code and fail-attempts say how the trainer fails there")
	case spec.StallAfter == 0 && (seen["stall-attempts"] || seen["stall-rank"]):
		return Spec{}, errors.New("stall-after is missing: stall-attempts and stall-rank say how it stalls there")
	case spec.FailAt > spec.Steps:
		return Spec{}, fmt.Errorf(
			"fail-at is %d, beyond steps=%d: give a step that is trained", spec.FailAt, spec.Steps,
		)
	case spec.TornAt > spec.Steps:
		return Spec{}, fmt.Errorf(
			"torn-at is %d, beyond steps=%d: give a step that is trained", spec.TornAt, spec.Steps,
		)
	case slices.ContainsFunc(spec.Pauses[:], func(p Pause) bool { return p.Step >= spec.Steps }):
		return Spec{}, fmt.Errorf("phases has a pause after steps=%d: give steps before the last one", spec.Steps)
	case spec.FailAt > 0 && spec.ExitCode == 0:
		spec.ExitCode = 1
	}
	return spec, nil
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, errors.New("write true or false")
	}
	return text == "true", nil
}

func parseRank(text string) (OptionalRank, error) {
	n, err := parseWhole(text, 0, 1e6)
	return OptionalRank{Set: true, Number: int32(n)}, err
}

// parsePauses reads PHASE@STEP:LENGTH, separated by commas.
func parsePauses(text string) (all [maxPauses]Pause, err error) {
	wrong := fmt.Errorf(
		"write at most %d, with rising steps, as in Evaluating@500:6m,Waiting@900:10s,Training@950:1m", maxPauses)
	last := int64(0)
	for i, part := range strings.Split(text, ",") {
		phase, rest, ok := strings.Cut(part, "@")
		number, length, ok2 := strings.Cut(rest, ":")
		labels := []checkpoint.Phase{checkpoint.PhaseTraining, checkpoint.PhaseEvaluating, checkpoint.PhaseWaiting}
		if !ok || !ok2 || i == maxPauses || !slices.Contains(labels, checkpoint.Phase(phase)) {
			return all, wrong
		}
		step, err := parseWhole(number, 1, 1<<53)
		if err != nil {
			return all, err
		}
		d, err := parseDuration(length, time.Second, 7*24*time.Hour)
		if err != nil {
			return all, err
		}
		if step <= last {
			return all, wrong
		}
		all[i], last = Pause{checkpoint.Phase(phase), step, d}, step
	}
	return all, nil
}

func parseWhole(text string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("give a whole number from %d to %d", low, high)
	}
	return n, nil
}

func parseNumber(text string, low, high float64) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= low && n <= high) { // NaN fails both
		return 0, fmt.Errorf("give a number from %g to %g", low, high)
	}
	return n, nil
}

func parseDuration(text string, low, high time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < low || d > high {
		return 0, fmt.Errorf("give a time from %s to %s, such as 2s or 1m30s", low, high)
	}
	return d, nil
}
