package history

import (
	"strings"
	"unicode/utf8"
)

// Limits of the texts in a record, in bytes. Callers can write any text into annotations, and databases have
// limits: PostgreSQL rejects NUL, and index entries of more than 2,700 bytes.
const (
	// maxNameBytes of a name, such as that of a user. An index has up to three of them.
	maxNameBytes = 512
	// maxURIBytes of a checkpoint's URI. The operator accepts no longer ones.
	maxURIBytes = 1024
	// maxMessageBytes of a message.
	maxMessageBytes = 4096
)

// cutMark is the end of a text that was cut.
const cutMark = "…"

// clean makes all texts of a new record valid UTF-8 without NUL, within the limits. The key is from the API
// server and the configuration. The manifest is JSON, which escapes NUL.
func clean(r *Record) {
	cleanJob(&r.Job)
	for i := range r.Attempts {
		a := &r.Attempts[i]
		cleanTexts(maxNameBytes, &a.EndPhase)
		cleanTexts(maxNameBytes, &a.EndReason, &a.ResourceVersion, &a.Queue, &a.GPUKind)
		if a.ResumedFrom != nil {
			cleanTexts(maxURIBytes, &a.ResumedFrom.URI)
		}
	}
	for i := range r.Transitions {
		cleanTexts(maxNameBytes, &r.Transitions[i].Phase)
		cleanTexts(maxNameBytes, &r.Transitions[i].Reason)
	}
	for i := range r.Preemptions {
		p := &r.Preemptions[i]
		cleanTexts(maxNameBytes, &p.Answer)
		cleanTexts(maxNameBytes, &p.Reason, &p.By)
		cleanTexts(maxMessageBytes, &p.Message)
	}
	for i := range r.Samples {
		cleanTexts(maxNameBytes, &r.Samples[i].Epoch)
		r.Samples[i].Metrics = cleanMap(r.Samples[i].Metrics)
	}
	for i := range r.Checkpoints {
		cleanTexts(maxURIBytes, &r.Checkpoints[i].URI)
	}
	// Texts that were cut can be equal.
	r.Transitions, r.Checkpoints = joinTransitions(r.Transitions, nil), joinCheckpoints(r.Checkpoints, nil)
}

func cleanJob(j *Job) {
	cleanTexts(maxNameBytes, &j.NamespaceUID)
	cleanTexts(maxNameBytes, &j.Scheduler)
	cleanTexts(maxNameBytes, &j.Framework)
	cleanTexts(maxNameBytes, &j.Phase)
	cleanTexts(maxNameBytes, &j.Namespace, &j.Name, &j.User, &j.Queue, &j.PriorityClass, &j.ResourceVersion,
		&j.Reason, &j.GPUKind)
	cleanTexts(maxMessageBytes, &j.Message)
}

func cleanMap(texts map[string]string) map[string]string {
	if texts == nil {
		return nil
	}
	cleaned := make(map[string]string, len(texts))
	for key, value := range texts {
		cleanTexts(maxNameBytes, &key, &value)
		cleaned[key] = value
	}
	return cleaned
}

// cleanTexts replaces NUL and invalid UTF-8, and cuts what is longer than limit bytes.
func cleanTexts[T ~string](limit int, texts ...*T) {
	for _, text := range texts {
		s := strings.ReplaceAll(strings.ToValidUTF8(string(*text), "\uFFFD"), "\x00", "\uFFFD")
		if len(s) > limit {
			end := limit - len(cutMark)
			for !utf8.RuneStart(s[end]) {
				end--
			}
			s = s[:end] + cutMark
		}
		*text = T(s)
	}
}
