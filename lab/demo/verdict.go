package demo

import "slices"

// claims returns the claims of the story, in the order of its acts. With brokered, the operator preempts
// second.
func claims(brokered bool) []claim {
	all := []claim{
		{"no more GPUs were bound than there are", withinCapacity},
		{"no gang started in part", allOrNothing},
		{"Running was reported for complete gangs only", runningIsWhole},
		{second + " waited as a unit", secondWaitedWhole},
		{second + " reported why it waited", secondReportedWhy},
		{preemptedWholeClaim, preemptedWhole},
		{second + " stopped reporting Running", stoppedReportingRunning},
		{"two attempts never ran together", attemptsApart},
		{second + " resumed from its latest complete checkpoint", resumed},
		{second + " reported what the preemption cost", costReported},
		{"a preemption is no failure", countersRight},
		{"all jobs finished and gave their GPUs back", allFinished},
	}
	if brokered {
		i := slices.IndexFunc(all, func(c claim) bool { return c.text == preemptedWholeClaim })
		all = slices.Insert(all, i+1, claim{second + " saved before it yielded, and lost nothing", savedFirst})
	}
	return all
}

const preemptedWholeClaim = urgent + " preempted " + second + " as a whole"

// Verdict checks all claims against a sorted history. With brokered, the operator should have preempted
// second.
func Verdict(h History, brokered bool) []Finding {
	var findings []Finding
	for _, c := range claims(brokered) {
		detail, err := c.check(h)
		if err != nil {
			findings = append(findings, Finding{Claim: c.text, Detail: err.Error()})
			continue
		}
		findings = append(findings, Finding{Claim: c.text, Held: true, Detail: detail})
	}
	return findings
}
