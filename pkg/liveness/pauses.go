package liveness

import "time"

const week = 7 * 24 * time.Hour

// Halved returns a recorded pause as it counts after an age: half of it for each full week.
func Halved(pause, age time.Duration) time.Duration { return halved(pause, age, allRules) }

func halved(pause, age time.Duration, on rules) time.Duration {
	if pause <= 0 {
		return 0
	}
	if !on.has(pausesHalve) {
		return pause
	}
	return pause >> min(uint64(max(0, age)/week), 63)
}

// LearnPause returns the longest pause to record in the status: the one that this verdict has seen, if it is
// longer than the recorded one as that counts today. Otherwise changed is false.
func LearnPause(recorded, age time.Duration, v Verdict) (pause time.Duration, changed bool) {
	if v.LongestPause <= Halved(recorded, age) {
		return recorded, false
	}
	return v.LongestPause, true
}
