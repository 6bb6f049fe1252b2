package checkpoint

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// MaxBeatLineBytes bounds the line in a beat file, without its end.
const MaxBeatLineBytes = 256

// BeatLine is what a trainer writes to EnvBeatFile: STEP [PHASE [WHERE]] [busy=SECONDS].
type BeatLine struct {
	// Step is the last finished one. Nil: the line begins with another text, which can only change.
	Step  *int64
	Phase Phase
	// Where is the trainer's own word for the place in its code.
	Where string
	// Busy is the time in seconds that this process has spent outside collectives since its start; negative:
	// the line does not have it.
	Busy float64
}

// beatRules are those of a beat, which the line becomes a part of.
var beatRules = func() map[string]rule {
	rules := map[string]rule{}
	for _, f := range collectFields(beatType)[beatType] {
		rules[f.name] = f.rule
	}
	return rules
}()

const maxBusySeconds = 1e12

// ParseBeatLine reads the first line of a beat file. What follows it may be left of a longer line, since the
// trainer writes in place. With an error it returns what the line has besides the mistake.
func ParseBeatLine(data []byte) (BeatLine, error) {
	l := BeatLine{Busy: -1}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if len(line) > MaxBeatLineBytes {
		return l, wrongBeatLine("", fmt.Sprintf("has more than %d bytes", MaxBeatLineBytes), "write one short line")
	}
	words := strings.Fields(strings.ToValidUTF8(string(line), "?"))
	if len(words) == 0 {
		return l, nil
	}
	step, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || step < 0 || float64(step) > beatRules["step"].max || step != int64(float64(step)) {
		return l, nil // a text that is no number
	}
	l.Step = &step
	return l, l.parseWords(words[1:])
}

// parseWords reads what follows the step.
func (l *BeatLine) parseWords(words []string) (wrong error) {
	note := func(err error) {
		if wrong == nil {
			wrong = err
		}
	}
	places := 0
	for _, word := range words {
		if text, ok := strings.CutPrefix(word, "busy="); ok {
			seconds, err := strconv.ParseFloat(text, 64)
			if err != nil || !(seconds >= 0 && seconds <= maxBusySeconds) {
				note(wrongBeatLine("busy", fmt.Sprintf("is %.40q", text), "give the seconds since the trainer's start"))
				continue
			}
			l.Busy = seconds
			continue
		}
		switch places++; places {
		case 1:
			if problem, remedy := beatRules["phase"].checkText(word); problem != "" {
				note(wrongBeatLine("phase", problem, remedy))
				continue
			}
			l.Phase = Phase(word)
		case 2:
			if problem, remedy := beatRules["where"].checkText(word); problem != "" {
				note(wrongBeatLine("where", problem, remedy))
				continue
			}
			l.Where = word
		default:
			note(wrongBeatLine("", "has more words than STEP PHASE WHERE", "write WHERE without spaces"))
		}
	}
	return wrong
}

func wrongBeatLine(field, problem, remedy string) error {
	return &FormatError{"beat file", field, problem, remedy}
}
