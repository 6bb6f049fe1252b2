package checkpoint

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestBeatLines(t *testing.T) {
	step := func(n int64) *int64 { return &n }
	for name, tc := range map[string]struct {
		text  string
		want  BeatLine
		wrong string
	}{
		"least":            {"12", BeatLine{Step: step(12), Busy: -1}, ""},
		"all":              {"12 Saving shard-3 busy=4.5\n", BeatLine{step(12), PhaseSaving, "shard-3", 4.5}, ""},
		"busy in between":  {"12 busy=1e3 Waiting", BeatLine{step(12), PhaseWaiting, "", 1000}, ""},
		"left of a longer": {"13\naining forward\n", BeatLine{Step: step(13), Busy: -1}, ""},
		"empty":            {"", BeatLine{Busy: -1}, ""},
		"a text":           {"alive 09:30 Training busy=1", BeatLine{Busy: -1}, ""},
		"a fraction":       {"1.5", BeatLine{Busy: -1}, ""},
		"negative":         {"-1 Training", BeatLine{Busy: -1}, ""},
		"too large":        {"9007199254740993", BeatLine{Busy: -1}, ""},
		"unknown phase": {
			"12 Eval a busy=2", BeatLine{step(12), "", "a", 2}, `phase is "Eval": use one of Starting`,
		},
		"of a resolver": {"12 Resolved", BeatLine{Step: step(12), Busy: -1}, "phase is"},
		"no number":     {"12 Training a busy=x", BeatLine{step(12), PhaseTraining, "a", -1}, `busy is "x"`},
		"NaN":           {"12 busy=NaN", BeatLine{Step: step(12), Busy: -1}, "busy is"},
		"infinite":      {"12 busy=Inf", BeatLine{Step: step(12), Busy: -1}, "busy is"},
		"spaces": {
			"12 Training in the loader", BeatLine{step(12), PhaseTraining, "in", -1}, "without spaces",
		},
		"long where": {
			"12 Training " + strings.Repeat("a", 65), BeatLine{step(12), PhaseTraining, "", -1}, "where has 65",
		},
		"control character": {"12 Training a\x07b", BeatLine{step(12), PhaseTraining, "", -1}, "where is"},
		"not UTF-8":         {"12 Training a\xffb", BeatLine{step(12), PhaseTraining, "a?b", -1}, ""},
		"no line":           {strings.Repeat("1", 300), BeatLine{Busy: -1}, "more than 256 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseBeatLine([]byte(tc.text))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("want %q, got %v", tc.wrong, err)
			}
		})
	}
}

// FuzzBeatLine: whatever a trainer writes, it fits into a beat.
func FuzzBeatLine(f *testing.F) {
	for _, seed := range []string{"12 Saving shard-3 busy=4.5\n", "\xff\xfe", "1 Training \u202e busy=-0", "x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseBeatLine(data)
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		if !utf8.ValidString(l.Where) || math.IsNaN(l.Busy) || math.IsInf(l.Busy, 0) {
			t.Errorf("%+v", l)
		}
		encoded, err := Encode(Beat{Attempt: 1, Step: l.Step, Phase: l.Phase, Where: l.Where})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseBeat(encoded); err != nil {
			t.Fatal(err)
		}
	})
}
