package simtrainer

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func TestParseSpec(t *testing.T) {
	got, err := ParseSpec(
		"steps=2000 rate=50.5  every=10s save=2s start=0s on-sigterm=die ignore-resume=true " +
			"fail-at=500 exit-code=137 fail-attempts=2 stall-after=300 torn-at=700",
	)
	want := Spec{
		Steps: 2000, Rate: 50.5, Every: 10 * time.Second, Save: 2 * time.Second, OnSIGTERM: Die, IgnoreResume: true,
		FailAt: 500, ExitCode: 137, FailAttempts: 2, StallAfter: 300, TornAt: 700,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("all keys: %v (-want +got):\n%s", err, diff)
	}
	got, err = ParseSpec("steps=900 start=24h stall-after=9 stall-attempts=1 stall-rank=0 silent-rank=1 " +
		"slow-rank=2 phases=Evaluating@500:6m,Training@501:1s")
	want = Spec{
		Steps: 900, Rate: 10, Save: time.Second, Start: 24 * time.Hour, OnSIGTERM: Save,
		StallAfter: 9, StallAttempts: 1, StallRank: OptionalRank{true, 0},
		SilentRank: OptionalRank{true, 1}, SlowRank: OptionalRank{true, 2},
		Pauses: [maxPauses]Pause{
			{checkpoint.PhaseEvaluating, 500, 6 * time.Minute}, {checkpoint.PhaseTraining, 501, time.Second},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the keys for hangs: %v (-want +got):\n%s", err, diff)
	}
	got, err = ParseSpec("steps=1 fault=in-place unnamed=true on-sigterm=save-fail")
	want = Spec{
		Steps: 1, Rate: 10, Save: time.Second, Start: time.Second, OnSIGTERM: SaveFail, Fault: InPlace,
		Unnamed: true,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the keys for rehearsals: %v (-want +got):\n%s", err, diff)
	}
	got, err = ParseSpec("steps=1 fail-at=1")
	want = Spec{
		Steps: 1, Rate: 10, Save: time.Second, Start: time.Second, OnSIGTERM: Save, FailAt: 1, ExitCode: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the defaults: %v (-want +got):\n%s", err, diff)
	}
	if len(keys) != len(keyNames) {
		t.Errorf("%d keys are read, %d are documented", len(keys), len(keyNames))
	}
}

func TestParseSpecRejects(t *testing.T) {
	cases := map[string]string{
		"":                                         "steps is missing",
		"rate=5":                                   "steps is missing",
		"steps=0":                                  `steps is "0": give a whole number from 1`,
		"steps=1.5":                                "give a whole number",
		"steps=5 steps=6":                          "steps is there twice",
		"steps=5 speed=6":                          `"speed" is unknown: use steps, rate`,
		"steps=5 save":                             "no key=value",
		"steps=5,rate=6":                           "give a whole number",
		"steps=5 rate=NaN":                         "give a number from 0.001",
		"steps=5 rate=0":                           "give a number from 0.001",
		"steps=5 every=10":                         "give a time",
		"steps=5 every=0s":                         "give a time from 100ms",
		"steps=5 save=-1s":                         "give a time from 0s",
		"steps=5 on-sigterm=exit":                  "write save, die, ignore, save-unheard or save-fail",
		"steps=5 ignore-resume=no":                 "write true or false",
		"steps=5 fault=tired":                      "write one-shard torn-saves",
		"steps=5 exit-code=3":                      "fail-at is missing",
		"steps=5 fail-attempts=3":                  "fail-at is missing",
		"steps=5 fail-at=6":                        "beyond steps=5",
		"steps=5 torn-at=6":                        "beyond steps=5",
		"steps=5 exit-code=0 fail-at=1":            "give a whole number from 1 to 255",
		"steps=5 stall-rank=1":                     "stall-after is missing",
		"steps=5 stall-attempts=1":                 "stall-after is missing",
		"steps=5 slow-rank=-1":                     "give a whole number from 0",
		"steps=5 phases=Saving@2:5s":               "write at most 4",
		"steps=5 phases=Waiting@2":                 "write at most 4",
		"steps=5 phases=Waiting@0:5s":              "give a whole number from 1",
		"steps=5 phases=Waiting@1:5":               "give a time",
		"steps=5 phases=Waiting@5:5s":              "phases has a pause after steps=5",
		"steps=9 phases=Waiting@2:5s,Waiting@2:5s": "rising steps",
		"steps=9 phases=Waiting@1:5s,Waiting@2:5s,Waiting@3:5s,Waiting@4:5s,Waiting@5:5s": "at most 4",
	}
	for text, want := range cases {
		if _, err := ParseSpec(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
