package demo

import "fmt"

// Finding says whether one claim held.
type Finding struct {
	Claim string
	Held  bool
	// Detail is the evidence, or what contradicts the claim.
	Detail string
}

// Held is true when every claim held, and there was one.
func Held(findings []Finding) bool {
	for _, f := range findings {
		if !f.Held {
			return false
		}
	}
	return len(findings) > 0
}

// claim checks a history: the evidence, or an error that says what contradicts it or why it was not shown.
type claim struct {
	text  string
	check func(History) (evidence string, err error)
}

// claims of the story, in the order of its acts.
func claims() []claim {
	return []claim{
		{"no more GPUs were bound than there are", withinCapacity},
		{"no gang started in part", allOrNothing},
		{"Running was said of whole gangs only", runningIsWhole},
		{second + " waited whole", secondWaitedWhole},
		{second + " said why it waited", secondSaidWhy},
		{urgent + " preempted " + second + " as a whole", preemptedWhole},
		{second + " stopped saying Running", saidSo},
		{"two attempts never ran together", attemptsApart},
		{second + " resumed from its latest complete checkpoint", resumed},
		{second + " said what the preemption cost", lossTold},
		{"a preemption is no failure", countersRight},
		{"all jobs finished and gave their GPUs back", allFinished},
	}
}

// Verdict judges a history: did the story hold? It is pure. The history must be sorted.
func Verdict(h History) []Finding {
	var findings []Finding
	for _, c := range claims() {
		evidence, err := c.check(h)
		if err != nil {
			findings = append(findings, Finding{Claim: c.text, Detail: err.Error()})
			continue
		}
		findings = append(findings, Finding{Claim: c.text, Held: true, Detail: evidence})
	}
	return findings
}

// notShown is the error of a claim that could not have gone wrong: the story did not get into the situation.
func notShown(format string, args ...any) error {
	return fmt.Errorf("not shown: "+format, args...)
}
