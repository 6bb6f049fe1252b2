package rehearsal

import (
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Ending is why no attempt follows. The zero Ending is that of a rehearsal that runs.
type Ending struct {
	// Over: no attempt runs, and none follows.
	Over bool
	// SavesNothing: no checkpoint was complete in time.
	SavesNothing bool
	// Problem is why not all ways were played, and the remedy; "" if that is not the reason.
	Problem string
}

// verdict on one check: an outcome with its message. The attempt that decided it is 0 if several did.
type verdict struct {
	outcome v1alpha1.RehearsalOutcome
	attempt int32
	message string
}

// checks in the order in which they can be made.
var checks = []struct {
	name  v1alpha1.RehearsalCheckName
	judge func(*play) verdict
}{
	{v1alpha1.CheckReports, (*play).reports},
	{v1alpha1.CheckSaves, (*play).saves},
	{v1alpha1.CheckSavesInTime, (*play).savesInTime},
	{v1alpha1.CheckResumes, (*play).resumes},
	{v1alpha1.CheckLoaded, (*play).loaded},
	{v1alpha1.CheckContinues, (*play).continues},
	{v1alpha1.CheckData, (*play).data},
	{v1alpha1.CheckTorn, (*play).torn},
	{v1alpha1.CheckRetention, (*play).retention},
	{v1alpha1.CheckExit, (*play).exit},
}

// Judge returns the checks so far, and the result once the rehearsal is over.
func Judge(
	p Policy, attempts []v1alpha1.RehearsalAttempt, end Ending,
) ([]v1alpha1.RehearsalCheck, v1alpha1.RehearsalResult) {
	g := &play{Policy: p, attempts: attempts, end: end}
	var all []v1alpha1.RehearsalCheck
	for _, c := range checks {
		v := c.judge(g)
		all = append(all, v1alpha1.RehearsalCheck{
			Name: c.name, Outcome: v.outcome, Attempt: v.attempt, Message: v.message,
		})
	}
	return all, g.result(all)
}

// play is the input of the checks.
type play struct {
	Policy
	attempts []v1alpha1.RehearsalAttempt
	end      Ending
}

func (g *play) result(all []v1alpha1.RehearsalCheck) v1alpha1.RehearsalResult {
	if !g.end.Over {
		return ""
	}
	passed := map[v1alpha1.RehearsalCheckName]bool{}
	for _, c := range all {
		if c.Outcome == v1alpha1.RehearsalFailed {
			return v1alpha1.RehearsalResultFailed
		}
		passed[c.Name] = c.Outcome == v1alpha1.RehearsalPassed
	}
	if g.end.Problem != "" || Played(g.attempts) < len(g.Ways) ||
		!passed[v1alpha1.CheckSaves] || !passed[v1alpha1.CheckResumes] {
		return v1alpha1.RehearsalResultIncomplete
	}
	return v1alpha1.RehearsalResultPassed
}

// Summary returns the result in one sentence: what holds, or the first problem and its remedy.
func Summary(
	p Policy, attempts []v1alpha1.RehearsalAttempt, end Ending, all []v1alpha1.RehearsalCheck,
	result v1alpha1.RehearsalResult,
) string {
	switch result {
	case v1alpha1.RehearsalResultPassed:
		return fmt.Sprintf("the trainer resumes after %s (%s)", listWays(p.Ways), plural(int64(p.Ranks), "rank"))
	case v1alpha1.RehearsalResultFailed:
		return failures(all)
	case v1alpha1.RehearsalResultIncomplete:
		if end.Problem != "" {
			return fmt.Sprintf("%d of %d ways were played: %s", Played(attempts), len(p.Ways), end.Problem)
		}
		for _, c := range all {
			if c.Outcome == v1alpha1.RehearsalNotSeen &&
				(c.Name == v1alpha1.CheckSaves || c.Name == v1alpha1.CheckResumes) {
				return fmt.Sprintf("%s was not seen: %s", c.Name, c.Message)
			}
		}
	}
	return fmt.Sprintf("%d of %d ways are played", Played(attempts), len(p.Ways))
}

// failures returns the first failed check, and how many others failed.
func failures(all []v1alpha1.RehearsalCheck) string {
	text, more := "", 0
	for _, c := range all {
		switch {
		case c.Outcome != v1alpha1.RehearsalFailed:
		case text == "":
			text = fmt.Sprintf("%s: %s", c.Name, c.Message)
		default:
			more++
		}
	}
	if more > 0 {
		text += fmt.Sprintf(" (and %s)", plural(int64(more), "more failed check"))
	}
	return text
}

func listWays(ways []v1alpha1.RehearsalWay) string {
	names := make([]string, len(ways))
	for i, w := range ways {
		names[i] = string(w)
	}
	n := len(names) - 1
	if n == 0 {
		return names[0]
	}
	return strings.Join(names[:n], ", ") + " and " + names[n]
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func passed(attempt int32, format string, args ...any) verdict {
	return verdict{v1alpha1.RehearsalPassed, attempt, fmt.Sprintf(format, args...)}
}

func failed(attempt int32, format string, args ...any) verdict {
	return verdict{v1alpha1.RehearsalFailed, attempt, fmt.Sprintf(format, args...)}
}

func warning(attempt int32, format string, args ...any) verdict {
	return verdict{v1alpha1.RehearsalWarning, attempt, fmt.Sprintf(format, args...)}
}

func notSeen(format string, args ...any) verdict {
	return verdict{v1alpha1.RehearsalNotSeen, 0, fmt.Sprintf(format, args...)}
}

// ended reports whether an attempt is over.
func (g *play) ended(i int) bool {
	return g.end.Over || i < len(g.attempts)-1 || g.attempts[i].EndedAfterSeconds != nil
}

// reporting reports whether rank 0 reported a step in any attempt.
func (g *play) reporting() bool {
	for i := range g.attempts {
		if evidence(&g.attempts[i]).FirstStep != nil {
			return true
		}
	}
	return false
}
