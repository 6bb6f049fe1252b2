package simtrainer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Rehearsed is a trainer, and what its rehearsal must find with a grace of RehearsalGrace seconds.
type Rehearsed struct {
	Name string
	// Trainer is the annotation, Ways and Timeout (in seconds, 0: the default) are those of the rehearsal.
	Trainer string
	Ways    []v1alpha1.RehearsalWay
	Timeout int32
	// Others are the outcomes that are not Passed, and Messages what the checks contain.
	Others   Outcomes
	Messages []string
}

// Outcomes of checks.
type Outcomes = map[v1alpha1.RehearsalCheckName]v1alpha1.RehearsalOutcome

// RehearsalGrace of the rehearsed trainers, in seconds.
const RehearsalGrace = 10

const (
	fails   = v1alpha1.RehearsalFailed
	warns   = v1alpha1.RehearsalWarning
	notSeen = v1alpha1.RehearsalNotSeen
)

// beginsWrongly are the outcomes of a trainer that begins at a wrong step: what it trained twice is not
// comparable.
func beginsWrongly(more Outcomes) Outcomes {
	all := Outcomes{
		v1alpha1.CheckResumes: fails, v1alpha1.CheckLoaded: notSeen, v1alpha1.CheckContinues: notSeen,
		v1alpha1.CheckData: notSeen, v1alpha1.CheckTorn: notSeen,
	}
	maps.Copy(all, more)
	return all
}

// Rehearsals are three sound trainers and twelve broken ones.
func Rehearsals() []Rehearsed {
	const (
		basis     = "steps=1000000 rate=20 start=1s every=30s "
		usual     = basis + "save=1s "
		evaluates = usual + "phases=Evaluating@60:45s,Evaluating@500:45s,Evaluating@900:45s,Evaluating@1300:45s "
	)
	return []Rehearsed{
		{Name: "sound", Trainer: usual},
		{Name: "evaluates", Trainer: evaluates},
		{Name: "unnamed", Trainer: usual + "unnamed=true", Others: Outcomes{v1alpha1.CheckData: notSeen}},
		{
			Name: "ignores-resume", Trainer: usual + "ignore-resume=true",
			Others:   beginsWrongly(nil),
			Messages: []string{"and began at step 1", "load RESUME_FROM_CHECKPOINT"},
		},
		{
			Name: "one-shard", Trainer: usual + "fault=one-shard",
			Others: Outcomes{v1alpha1.CheckContinues: fails},
			Messages: []string{
				"the loss differs by 31%", "only rank 0 wrote files: save every rank's shard",
			},
		},
		{
			Name: "torn-saves", Trainer: usual + "fault=torn-saves",
			Others:   Outcomes{v1alpha1.CheckTorn: fails},
			Messages: []string{"looks complete", "write to a temporary name"},
		},
		{
			Name: "lost-random", Trainer: usual + "fault=lost-random",
			Others:   Outcomes{v1alpha1.CheckData: fails, v1alpha1.CheckContinues: notSeen},
			Messages: []string{"were trained on other batches than before", "got the batch of step 1:"},
		},
		{
			Name: "deaf", Trainer: evaluates + "fault=deaf",
			Others:   Outcomes{v1alpha1.CheckSavesInTime: fails},
			Messages: []string{"asked in Evaluating, it did not save within", "read the command file in that loop"},
		},
		{
			Name: "in-place", Trainer: usual + "fault=in-place", Others: Outcomes{v1alpha1.CheckTorn: fails},
			Messages: []string{"was overwritten"},
		},
		{
			Name: "outside", Trainer: usual + "fault=outside", Timeout: 300,
			Others: Outcomes{
				v1alpha1.CheckSaves: fails, v1alpha1.CheckSavesInTime: notSeen,
				v1alpha1.CheckResumes: notSeen, v1alpha1.CheckLoaded: notSeen,
				v1alpha1.CheckContinues: notSeen, v1alpha1.CheckData: notSeen,
				v1alpha1.CheckTorn: notSeen, v1alpha1.CheckExit: notSeen,
			},
			Messages: []string{"it wrote 1.2 GB to /workspace/ckpt/last.pt: write below $CHECKPOINT_DIR"},
		},
		{
			Name: "exits-with-1", Trainer: usual + "on-sigterm=save-fail",
			Others: Outcomes{v1alpha1.CheckExit: warns},
		},
		{
			Name: "silent", Trainer: usual + "fault=silent",
			Ways: []v1alpha1.RehearsalWay{v1alpha1.RehearsalKill, v1alpha1.RehearsalKillInSave},
			Others: Outcomes{
				v1alpha1.CheckReports: fails, v1alpha1.CheckSavesInTime: notSeen,
				v1alpha1.CheckResumes: notSeen, v1alpha1.CheckLoaded: notSeen, v1alpha1.CheckContinues: notSeen,
				v1alpha1.CheckData: notSeen, v1alpha1.CheckTorn: notSeen,
			},
			Messages: []string{"no status file: it cannot be asked to save"},
		},
		{
			Name: "wrong-step", Trainer: usual + "fault=wrong-step",
			Others: beginsWrongly(Outcomes{
				v1alpha1.CheckSavesInTime: notSeen, v1alpha1.CheckExit: notSeen,
			}),
			Messages: []string{"steps were skipped"},
		},
		{
			Name: "slow-saves", Trainer: basis + "save=40s",
			Others: Outcomes{
				v1alpha1.CheckSavesInTime: fails, v1alpha1.CheckExit: notSeen,
			},
			Messages: []string{"a save takes 40s, graceSeconds is 10: set graceSeconds: 60"},
		},
		{
			Name: "older", Trainer: usual + "fault=older",
			Others:   beginsWrongly(nil),
			Messages: []string{"do not search for a checkpoint, load RESUME_FROM_CHECKPOINT"},
		},
	}
}

// Differences returns what the checks of a rehearsal that is over have instead of what is expected. A check
// in lost that should pass may be NotSeen, since the operator was away. A fault must be found in any case.
func (r Rehearsed) Differences(
	checks []v1alpha1.RehearsalCheck, result v1alpha1.RehearsalResult, lost ...v1alpha1.RehearsalCheckName,
) []string {
	var wrong []string
	want, messages := v1alpha1.RehearsalResultPassed, ""
	for _, c := range checks {
		expected, ok := r.Others[c.Name]
		if !ok {
			expected = v1alpha1.RehearsalPassed
		}
		isLost := slices.Contains(lost, c.Name) && !ok && c.Outcome == notSeen
		if c.Outcome != expected && !isLost {
			wrong = append(wrong, fmt.Sprintf("%s is %s, not %s: %s", c.Name, c.Outcome, expected, c.Message))
		}
		if expected == fails {
			want = v1alpha1.RehearsalResultFailed
		}
		messages += c.Message + "\n"
	}
	for _, m := range r.Messages {
		if !strings.Contains(messages, m) {
			wrong = append(wrong, fmt.Sprintf("no message has %q", m))
		}
	}
	if len(checks) != 10 || result != want {
		wrong = append(wrong, fmt.Sprintf("%d checks, and the result is %s, not %s", len(checks), result, want))
	}
	return wrong
}
