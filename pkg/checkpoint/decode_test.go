package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

type document struct {
	message, json string
	// wrong is part of the expected error; empty if the document is valid.
	wrong string
	// beyondSchema: JSON schema cannot express the error.
	beyondSchema bool
}

func documents() map[string]document {
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprintf(`"m%d":1`, i)
	}
	return map[string]document{
		"status, least": {"status", `{"step":0}`, "", false},
		"status, all": {
			"status",
			`{"step":12400,"totalSteps":50000,"phase":"Training","epoch":2.48,"totalEpochs":10,` +
				`"stepSeconds":0.82,"metrics":{"loss":1.2345,"eval/acc":"0.5","grad":"NaN"},` +
				`"checkpoint":{"state":"Saving","step":12400,"uri":"s3://bucket/a"},"commandId":"c-1"}`,
			"", false,
		},
		"status, no step": {"status", `{"phase":"Training"}`, "step is missing", false},
		"status, unknown field": {
			"status", `{"step":1,"stepp":2}`, "stepp is unknown: use one of step, totalSteps", false,
		},
		"status, other case": {"status", `{"step":1,"Phase":"Training"}`, "Phase is unknown", false},
		"status, negative":   {"status", `{"step":-1}`, "step is -1: give a whole number from 0 to", false},
		"status, too large": {
			"status", `{"step":9007199254740993}`,
			"step is 9007199254740993: give a whole number up to 9007199254740992", false,
		},
		"status, huge": {
			"status", `{"step":99999999999999999999}`, "without a point or an exponent", true,
		},
		"status, fraction":          {"status", `{"step":1.5}`, "step is 1.5: give a whole number", false},
		"status, text for a number": {"status", `{"step":"1"}`, `no number: give a number`, false},
		"status, number for a text": {"status", `{"step":1,"phase":3}`, `no string`, false},
		"status, null":              {"status", `{"step":null}`, "step is null: leave the field out", true},
		"status, twice":             {"status", `{"step":1,"step":2}`, "step is there twice", true},
		"status, phase": {
			"status", `{"step":1,"phase":"training"}`,
			"use one of Starting, Training, Saving, Evaluating, Waiting, Completed", false,
		},
		"status, resolved":     {"status", `{"step":1,"phase":"Resolved"}`, "phase is", false},
		"status, infinite":     {"status", `{"step":1,"epoch":1e999}`, "epoch is 1e999", true},
		"status, epoch":        {"status", `{"step":1,"epoch":-0.1}`, "epoch is -0.1", false},
		"status, metric name":  {"status", `{"step":1,"metrics":{"a b":1}}`, "metrics.a b has a name", false},
		"status, metric value": {"status", `{"step":1,"metrics":{"a":"high"}}`, `metrics.a is "high"`, false},
		"status, metric list":  {"status", `{"step":1,"metrics":{"a":[1]}}`, "metrics.a is", false},
		"status, many metrics": {
			"status", `{"step":1,"metrics":{` + strings.Join(many, ",") + `}}`,
			"metrics has too many entries", false,
		},
		"status, NaN": {
			"status", `{"step":1,"metrics":{"a":NaN}}`, "NaN and Infinity go as strings", true,
		},
		"status, half":  {"status", `{"step":1,"metr`, "ends too early", true},
		"status, empty": {"status", ``, "ends too early", true},
		"status, list":  {"status", `[1]`, "is no object", false},
		"status, more":  {"status", `{"step":1}{}`, "continues after its end", true},
		"status, control character": {
			"status", `{"step":1,"checkpoint":{"state":"Saving","step":1,"uri":"a\u0007b"}}`,
			"checkpoint.uri is", false,
		},
		"status, direction override": {
			"status", `{"step":1,"checkpoint":{"state":"Saving","step":1,"uri":"a\u202eb"}}`,
			"checkpoint.uri is", false,
		},
		"status, not UTF-8": {"status", "{\"step\":1,\"commandId\":\"\xff\"}", "UTF-8", true},
		"status, time": {
			"status", `{"step":1,"checkpoint":{"state":"Committed","step":1,"committedAt":"yesterday"}}`,
			"committedAt is", false,
		},
		"status, time of 1970": {
			"status",
			`{"step":1,"checkpoint":{"state":"Committed","step":1,"committedAt":"1970-01-01T00:00:00Z"}}`,
			"between the years", true,
		},
		"status, too long": {
			"status", `{"step":1,"commandId":"` + strings.Repeat("a", 70000) + `"}`,
			"more than 65536 bytes", true,
		},
		"status, id too long": {
			"status", `{"step":1,"commandId":"` + strings.Repeat("a", 65) + `"}`, "has 65 characters",
			false,
		},
		"command": {
			"command", `{"command":"CheckpointAndExit","id":"7","deadline":"2026-11-21T09:30:00Z"}`, "",
			false,
		},
		"command, none":       {"command", `{"command":"None","id":"7"}`, "use one of", false},
		"command, path as id": {"command", `{"command":"Checkpoint","id":"../x"}`, "id is", false},
		"manifest": {
			"manifest", string(manifestOf(5, tree{"a/b.pt": weights})[ManifestName]), "", false,
		},
		"manifest, no files": {
			"manifest", `{"version":1,"step":1,"files":[]}`, "files has 0 entries", false,
		},
		"manifest, absolute": {
			"manifest", `{"version":1,"step":1,"files":[{"name":"/etc/passwd","size":1}]}`,
			"files[0].name is", false,
		},
		"manifest, parent": {
			"manifest", `{"version":1,"step":1,"files":[{"name":"a/../../b","size":1}]}`,
			"files[0].name is", true,
		},
		"manifest, itself": {
			"manifest", `{"version":1,"step":1,"files":[{"name":"` + ManifestName + `","size":1}]}`,
			"or itself", true,
		},
		"manifest, twice": {
			"manifest", `{"version":1,"step":1,"files":[{"name":"a","size":1},{"name":"a","size":1}]}`,
			"twice", true,
		},
		"manifest, sum": {
			"manifest", `{"version":1,"step":1,"files":[{"name":"a","size":1,"sha256":"ABC"}]}`,
			"64 lower-case", false,
		},
		"report": {
			"report",
			`{"attempt":3,"phase":"Training","step":12400,"totalSteps":50000,"epoch":2.48,` +
				`"stepSeconds":0.82,"metrics":{"loss":"1.2345"},"checkpoint":{"state":"Committed",` +
				`"uri":"pvc://claim/bert/attempt-3/step-0000012000","step":12000,` +
				`"committedAt":"2026-11-21T09:30:00Z","durationSeconds":41,"bytes":9100000000}}`,
			"", false,
		},
		"report, no attempt": {"report", `{"phase":"Training"}`, "attempt is missing", false},
		"report, attempt 0":  {"report", `{"attempt":0,"phase":"Training"}`, "attempt is 0", false},
		"report, rehearsal": {
			"report", `{"attempt":2,"phase":"Training","rehearsal":[{"attempt":1,"lastStep":60,"completeLeft":0},` +
				`{"attempt":2,"firstStep":41,"commonSteps":20,"differingSteps":1,"lossBasisPoints":12,` +
				`"differentLoss":{"step":41,"before":"2.1134","after":"2.1140"},"batchOfStep":1,"ranks":4,` +
				`"cutOffPath":"attempt-2/step-60","cutOffComplete":true}]}`, "", false,
		},
		"report, much evidence": {
			"report", `{"attempt":2,"phase":"Training","rehearsal":[{"attempt":1},{"attempt":2},{"attempt":3}]}`,
			"rehearsal has too many entries", false,
		},
		"report, evidence": {
			"report", `{"attempt":2,"phase":"Training","rehearsal":[{"attempt":1,"firstStep":-1}]}`,
			"rehearsal[0].firstStep is -1", false,
		},
		"answer, kill":  {"answer", `{"command":"KillInSave","id":"a"}`, "", false},
		"command, kill": {"command", `{"command":"Kill","id":"a"}`, "use one of", false},
		"status, rehearsal": {
			"status", `{"step":1,"batch":"9f","weights":"1c","loaded":"/ckpt/attempt-1/step-5"}`, "", false,
		},
		"status, batch": {
			"status", `{"step":1,"batch":"` + strings.Repeat("a", 65) + `"}`, "batch has 65 characters", false,
		},
		"report, first step": {"report", `{"attempt":1,"phase":"Training","firstStep":0}`, "", false},
		"answer":             {"answer", `{"command":"None","minIntervalSeconds":10}`, "", false},
		"answer, command": {
			"answer",
			`{"command":"CheckpointAndExit","id":"abc","deadline":"2026-11-21T09:30:00+01:00",` +
				`"minIntervalSeconds":10}`,
			"", false,
		},
		"answer, command without id": {"answer", `{"command":"Checkpoint"}`, "id is missing", true},
		"answer, interval": {
			"answer", `{"command":"None","minIntervalSeconds":100000}`,
			"minIntervalSeconds is 100000: give a whole number", false,
		},
		"termination": {
			"termination",
			`{"reason":"Signaled","exitCode":143,"signal":"SIGTERM","step":7,"log":"line\nline"}`, "",
			false,
		},
		"report, phase of beats": {
			"report", `{"attempt":1,"phase":"Evaluating"}`, "use one of Starting, Training, Saving, Completed", false,
		},
		"beat": {
			"beat",
			`{"attempt":1,"step":12,"phase":"Waiting","where":"data","idleSeconds":0.5,"cpus":1.5,"state":"T",` +
				`"stateSeconds":60}`, "", false,
		},
		"beat, least":    {"beat", `{"attempt":1,"idleSeconds":0}`, "", false},
		"beat, no age":   {"beat", `{"attempt":1}`, "idleSeconds is missing", false},
		"beat, where":    {"beat", `{"attempt":1,"idleSeconds":0,"where":"a\u0007"}`, "where is", false},
		"beat, state":    {"beat", `{"attempt":1,"idleSeconds":0,"state":"Z"}`, "use one of R, S, D, T", false},
		"beat, labels":   {"beat", `{"attempt":1,"idleSeconds":0,"labels":true}`, "", false},
		"beat, no label": {"beat", `{"attempt":1,"idleSeconds":0,"labels":1}`, "no boolean: give a boolean", false},
		"beat, negative": {"beat", `{"attempt":1,"idleSeconds":-1}`, "idleSeconds is -1", false},
		"beat, long": {
			"beat", `{"attempt":1,"idleSeconds":0,` + strings.Repeat(" ", 1024) + `"step":1}`,
			"more than 1024 bytes", true,
		},
		"beat-answer":       {"beat-answer", `{"minIntervalSeconds":30}`, "", false},
		"beat-answer, zero": {"beat-answer", `{"minIntervalSeconds":0}`, "minIntervalSeconds is 0", false},
	}
}

func parseAny(message string, data []byte) (err error) {
	switch message {
	case "status":
		_, err = ParseStatus(data)
	case "command":
		_, err = ParseCommand(data)
	case "settings":
		_, err = ParseSettings(data)
	case "manifest":
		_, err = ParseManifest(data)
	case "report":
		_, err = ParseReport(data)
	case "answer":
		_, err = ParseAnswer(data)
	case "termination":
		_, err = ParseTermination(data)
	case "beat":
		_, err = ParseBeat(data)
	case "beat-answer":
		_, err = ParseBeatAnswer(data)
	default:
		panic("no parser is known for message " + message)
	}
	return err
}

func TestDecodingIsStrict(t *testing.T) {
	for name, tc := range documents() {
		t.Run(name, func(t *testing.T) {
			err := parseAny(tc.message, []byte(tc.json))
			if tc.wrong == "" && err != nil {
				t.Error(err)
			}
			if tc.wrong == "" {
				return
			}
			var fe *FormatError
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), tc.wrong) || fe.Remedy == "" ||
				len(err.Error()) > 600 {
				t.Errorf("want %q and a remedy, got %v", tc.wrong, err)
			}
		})
	}
}

func TestMetricsKeepTheirText(t *testing.T) {
	s, err := ParseStatus([]byte(`{"step":1,"metrics":{"a":0.10,"b":"-inf","c":1E-7}}`))
	if err != nil || s.Metrics["a"] != "0.10" || s.Metrics["b"] != "-inf" || s.Metrics["c"] != "1E-7" {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestEncodeChecks(t *testing.T) {
	if _, err := Encode(Report{Attempt: 1, Phase: PhaseTraining, Problem: "a\nb"}); err == nil {
		t.Error("a message was written that its parser rejects")
	}
	printable := Printable("a\nb\x1b[0m"+strings.Repeat("é", 600), 512)
	if data, err := Encode(&Report{Attempt: 1, Phase: PhaseTraining, Problem: printable}); err != nil {
		t.Errorf("%s: %v", data, err)
	}
}

func BenchmarkParseReport(b *testing.B) {
	data := []byte(documents()["report"].json)
	for b.Loop() {
		if _, err := ParseReport(data); err != nil {
			b.Fatal(err)
		}
	}
}
