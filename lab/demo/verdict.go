package demo

// claims are the claims of the story, in the order of its acts.
func claims() []claim {
	return []claim{
		{"no more GPUs were bound than there are", withinCapacity},
		{"no gang started in part", allOrNothing},
		{"Running was said of whole gangs only", runningIsWhole},
		{second + " waited whole", secondWaitedWhole},
		{second + " said why it waited", secondSaidWhy},
		{urgent + " preempted " + second + " as a whole", preemptedWhole},
		{second + " stopped saying Running", stoppedSayingRunning},
		{"two attempts never ran together", attemptsApart},
		{second + " resumed from its latest complete checkpoint", resumed},
		{second + " said what the preemption cost", costStated},
		{"a preemption is no failure", countersRight},
		{"all jobs finished and gave their GPUs back", allFinished},
	}
}

// Verdict judges a sorted history. It is pure.
func Verdict(h History) []Finding {
	var findings []Finding
	for _, c := range claims() {
		detail, err := c.check(h)
		if err != nil {
			findings = append(findings, Finding{Claim: c.text, Detail: err.Error()})
			continue
		}
		findings = append(findings, Finding{Claim: c.text, Held: true, Detail: detail})
	}
	return findings
}
