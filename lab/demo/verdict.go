package demo

import "slices"

// claims are the claims of the story, in the order of its acts; brokered: where the operator has second make
// room.
func claims(brokered bool) []claim {
	all := []claim{
		{"no more GPUs were bound than there are", withinCapacity},
		{"no gang started in part", allOrNothing},
		{"Running was said of whole gangs only", runningIsWhole},
		{second + " waited whole", secondWaitedWhole},
		{second + " said why it waited", secondSaidWhy},
		{preemptedWholeClaim, preemptedWhole},
		{second + " stopped saying Running", stoppedSayingRunning},
		{"two attempts never ran together", attemptsApart},
		{second + " resumed from its latest complete checkpoint", resumed},
		{second + " said what the preemption cost", costStated},
		{"a preemption is no failure", countersRight},
		{"all jobs finished and gave their GPUs back", allFinished},
	}
	if brokered {
		i := slices.IndexFunc(all, func(c claim) bool { return c.text == preemptedWholeClaim })
		all = slices.Insert(all, i+1, claim{second + " saved before it made room, and lost nothing", savedFirst})
	}
	return all
}

const preemptedWholeClaim = urgent + " preempted " + second + " as a whole"

// Verdict judges a sorted history; brokered: one in which the operator was to have second make room. It is
// pure.
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
