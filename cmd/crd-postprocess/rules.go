package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// rulesFile is api/v1alpha1/rules.yaml, which explains its keys.
type rulesFile struct {
	Define     map[string]string `json:"define"`
	Rules      []rule            `json:"rules"`
	SimpleForm []string          `json:"simpleForm"`
	Changes    changes           `json:"changes"`
	Foreign    []string          `json:"foreign"`
	Bounds     bounds            `json:"bounds"`
}

// rule is one entry of x-kubernetes-validations.
type rule struct {
	// At is the path of the schema that carries the rule: what self stands for.
	At string `json:"at"`
	// Field is the path below At that the error names.
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Rule   string `json:"rule"`
	// Message is required: the API server falls back to it when MessageExpression fails, and shows the raw
	// rule where there is none. An expression can fail although its rule could be evaluated: every rule is
	// evaluated on objects that break the schema's bounds too.
	Message           string `json:"message"`
	MessageExpression string `json:"messageExpression"`
}

// changes lists the fields of the spec that may change at other times than while nothing runs.
type changes struct {
	OwnRules  []string `json:"ownRules"`
	Suspended []string `json:"suspended"`
	Running   []string `json:"running"`
	Finished  []string `json:"finished"`
}

func readRules(path string) (*rulesFile, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f rulesFile
	if err := yaml.UnmarshalStrict(raw, &f); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return &f, nil
}

// maxExpansions bounds how deep definitions nest, so that one that uses itself is an error and not an
// endless loop.
const maxExpansions = 10

// expand replaces each $(name) by its definition and joins lines. Definitions may use each other.
func (f *rulesFile) expand(text string) (string, error) {
	for range maxExpansions {
		for _, name := range slices.Sorted(maps.Keys(f.Define)) {
			text = strings.ReplaceAll(text, "$("+name+")", f.Define[name])
		}
	}
	if strings.Contains(text, "$(") {
		return "", fmt.Errorf("undefined or circular name in %.200s", text)
	}
	return strings.Join(strings.Fields(text), " "), nil
}

// addTo adds the rule to the schema that it belongs to. Its field must exist there.
func (r rule) addTo(root schema, f *rulesFile) error {
	target, err := root.at(r.At)
	if err != nil {
		return err
	}
	if _, err := target.at(r.Field); err != nil {
		return err
	}
	if r.Message == "" {
		return fmt.Errorf("no message")
	}
	expression, err := f.expand(r.Rule)
	if err != nil {
		return err
	}
	messageExpression, err := f.expand(r.MessageExpression)
	if err != nil {
		return err
	}
	entry := map[string]any{"rule": expression, "message": r.Message}
	if messageExpression != "" {
		entry["messageExpression"] = messageExpression
	}
	if r.Reason != "" {
		entry["reason"] = r.Reason
	}
	if r.Field != "" {
		entry["fieldPath"] = "." + r.Field
	}
	target.addValidation(entry)
	return nil
}
