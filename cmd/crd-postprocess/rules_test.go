package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// object is the schema of an object with these fields.
func object(fields map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": fields}
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func TestRuleIsAdded(t *testing.T) {
	f := &rulesFile{Define: map[string]string{"two": "1\n+ $(one)", "one": "1"}}
	tests := map[string]struct {
		reason string
		rule   rule
		want   map[string]any
		err    string
	}{
		"with everything": {
			reason: "definitions are expanded and lines joined, in the rule and in the message's expression",
			rule: rule{
				At: "spec", Field: "name", Reason: "FieldValueRequired", Rule: "self.n <=\n$(two)", Message: "too many",
				MessageExpression: "'at most ' + $(one)",
			},
			want: map[string]any{
				"rule": "self.n <= 1 + 1", "message": "too many", "messageExpression": "'at most ' + 1",
				"fieldPath": ".name", "reason": "FieldValueRequired",
			},
		},
		"about the schema itself": {
			reason: "no field path is written where the rule names no field",
			rule:   rule{At: "spec", Rule: "true", Message: "never"},
			want:   map[string]any{"rule": "true", "message": "never"},
		},
		"without a message": {
			reason: "the API server would show the raw rule",
			rule:   rule{At: "spec", Rule: "true", MessageExpression: "'never'"}, err: "no message",
		},
		"at an unknown path": {
			reason: "a renamed field leaves no dead rule behind",
			rule:   rule{At: "nowhere", Rule: "true", Message: "m"}, err: "no field nowhere",
		},
		"about an unknown field": {
			reason: "the API server refuses a CRD whose rule names a field that does not exist",
			rule:   rule{At: "spec", Field: "x", Rule: "true", Message: "m"}, err: "no field x",
		},
		"with an undefined name": {
			reason: "it would be no CEL",
			rule:   rule{At: "spec", Rule: "$(three)", Message: "m"}, err: "undefined or circular",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := object(map[string]any{"name": text("")})
			err := test.rule.addTo(object(map[string]any{"spec": spec}), f)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("%s\nwant error %q, got %v", test.reason, test.err, err)
			}
			if test.err != "" {
				return
			}
			if diff := cmp.Diff([]any{test.want}, spec["x-kubernetes-validations"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestCircularDefinitionIsAnError(t *testing.T) {
	f := &rulesFile{Define: map[string]string{"a": "$(b)", "b": "$(a)"}}
	if text, err := f.expand("$(a)"); err == nil {
		t.Errorf("expanded to %q", text)
	}
}

func TestChangeRules(t *testing.T) {
	c := changes{
		OwnRules: []string{"roles"}, Suspended: []string{"scheduler"},
		Running: []string{"replicas"}, Finished: []string{"ttl"},
	}
	fields := []string{"image", "new", "replicas", "roles", "scheduler", "ttl"}
	rules, err := c.rules(fields)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, r := range rules {
		phases, _, _ := strings.Cut(strings.TrimPrefix(r.Rule, "!("), ")")
		for _, field := range fields {
			if strings.Contains(r.Rule, unchanged(field)) {
				got[phases+")"] = append(got[phases+")"], field)
			}
		}
	}
	want := map[string][]string{
		"$(finished)": {"image", "new", "replicas", "scheduler"},
		"$(running)":  {"image", "new", "scheduler"},
		"$(queued)":   {"scheduler"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a field that no list mentions may not change while the job runs (-want +got):\n%s", diff)
	}

	c.Running = []string{"replica"}
	if _, err := c.rules(fields); err == nil || !strings.Contains(err.Error(), "replica,") {
		t.Errorf("a listed field that does not exist must be an error, got %v", err)
	}
}

func TestLeavesReplacePoliciesByTheirFields(t *testing.T) {
	s := schema(object(map[string]any{
		"image":         text(""),
		"restartPolicy": text(""), // a policy by name only
		"runPolicy": object(map[string]any{
			"suspend": text(""), "schedulingPolicy": object(map[string]any{"queue": text("")}),
		}),
	}))
	want := []string{"image", "restartPolicy", "runPolicy.schedulingPolicy.queue", "runPolicy.suspend"}
	if diff := cmp.Diff(want, s.leaves("")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForeignDescriptionsAreDropped(t *testing.T) {
	pod := object(map[string]any{"description": text("a field of this name"), "image": text("an image")})
	pod["description"] = "the pod"
	root := object(map[string]any{"pod": pod, "ours": text("ours")})
	if err := dropForeign(root, []string{"pod"}); err != nil {
		t.Fatal(err)
	}
	bare := map[string]any{"type": "string"}
	wantPod := object(map[string]any{"description": bare, "image": bare})
	wantPod["description"] = "the pod"
	want := object(map[string]any{"pod": wantPod, "ours": text("ours")})
	if diff := cmp.Diff(want, root); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := dropForeign(root, []string{"gone"}); err == nil {
		t.Error("a foreign path that does not exist must be an error")
	}
}

func TestDocsListWhatIsNotAChange(t *testing.T) {
	f := &rulesFile{
		SimpleForm: []string{"image", "command"},
		Rules: []rule{
			{At: "spec", Field: "uri", Rule: "self.uri != ''", Message: "set it to s3://<bucket> | gs://<bucket>"},
			{Field: "spec.roles", Rule: "self.spec == oldSelf.spec", Message: "roles cannot change"},
		},
		Changes: changes{
			Finished: []string{"ttl"}, Running: []string{"replicas"}, Suspended: []string{"scheduler"},
		},
	}
	docs := f.docs()
	for _, want := range []string{
		"- `spec.uri`: set it to s3://&lt;bucket> | gs://&lt;bucket>\n",
		"- `spec.image`, `spec.command`: ",
		"| `ttl` | always |",
	} {
		if !strings.Contains(docs, want) {
			t.Errorf("want %q in:\n%s", want, docs)
		}
	}
	if strings.Contains(docs, "roles cannot change") {
		t.Errorf("a rule about changes is listed among those between fields:\n%s", docs)
	}
}
