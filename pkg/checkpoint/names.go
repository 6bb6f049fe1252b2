package checkpoint

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// AttemptDir is the name of an attempt's directory below the job's checkpoint path.
func AttemptDir(attempt int32) string { return "attempt-" + strconv.Itoa(int(attempt)) }

var attemptDir = regexp.MustCompile(`^attempt-([1-9][0-9]{0,6})$`)

// AttemptOf is the attempt whose directory a path lies in, 0 if none.
func AttemptOf(p string) int32 {
	for s := range strings.SplitSeq(p, "/") {
		if m := attemptDir.FindStringSubmatch(s); m != nil {
			n, _ := strconv.Atoi(m[1])
			return int32(n)
		}
	}
	return 0
}

var (
	// namedStep is a number that the name itself calls a step or an iteration.
	namedStep = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:(?:global_?)?step|iter|iteration)s?[=_-]?([0-9]{1,15})`)
	// savedNumber is the only number of a name, at its end, after the word for a checkpoint: the step of the
	// Hugging Face Trainer and of tf.train.Checkpoint (checkpoint-500, model.ckpt-500).
	savedNumber = regexp.MustCompile(`(?i)^(?:[^0-9]*[^a-z0-9])?(?:checkpoint|ckpt)[=_-]?([0-9]{1,15})$`)
	onlyNumber  = regexp.MustCompile(`^([0-9]{1,15})$`)
	epochNamed  = regexp.MustCompile(`(?i)epoch`)
	// moreDigits after a number make it a part of something else: a date, a time, a longer number.
	moreDigits = regexp.MustCompile(`^[^A-Za-z0-9]?[0-9]`)
	suffixes   = []string{".weights.h5", ".keras", ".ckpt", ".pt", ".pth"}
)

// stepOf reads the step from a name, noStep where the name does not say it beyond doubt. Retention deletes by
// this order, so a number that merely stands in the name is no step: the last number of 20261121-235900 falls
// at midnight, that of ckpt_1000_of_5000 never rises, and that of epoch-3 counts epochs.
func stepOf(name string) int64 {
	if step := namedStepOf(name); step != noStep {
		return step
	}
	name = withoutSuffix(name)
	if namedStep.MatchString(name) || epochNamed.MatchString(name) {
		return noStep
	}
	for _, form := range []*regexp.Regexp{onlyNumber, savedNumber} {
		if m := form.FindStringSubmatch(name); m != nil {
			return number(m[1])
		}
	}
	return noStep
}

// namedStepOf is the number after "step" or "iter" ("step=1200", "global_step1200"), noStep if there is none
// or more than one.
func namedStepOf(name string) int64 {
	name = withoutSuffix(name)
	step := int64(noStep)
	for _, m := range namedStep.FindAllStringSubmatchIndex(name, -1) {
		n := number(name[m[2]:m[3]])
		if moreDigits.MatchString(name[m[3]:]) || step != noStep && step != n {
			return noStep
		}
		step = n
	}
	return step
}

// StepOf returns the step that the last names of a path tell, -1 if none does: its own, or that of a
// directory above it.
func StepOf(p string) int64 {
	for ; p != "." && p != "/"; p = path.Dir(p) {
		name := path.Base(p)
		if attemptDir.MatchString(name) {
			break
		}
		if step := stepOf(name); step != noStep {
			return step
		}
	}
	return noStep
}

func withoutSuffix(name string) string {
	for _, s := range suffixes {
		name = strings.TrimSuffix(name, s)
	}
	return name
}

func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return noStep
	}
	return n
}
