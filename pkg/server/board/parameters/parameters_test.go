package parameters_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

var reader = parameters.Reader{Lists: []string{"phase"}, Long: map[string]int{"continue": 1024}}

func TestEach(t *testing.T) {
	var read []string
	values := url.Values{
		"queue": {" research "}, "phase": {"Queued", "Running"}, "continue": {strings.Repeat("x", 1024)},
	}
	err := reader.Each(values, func(name, value string) error {
		read = append(read, name+"="+value)
		return nil
	})
	want := []string{"continue=" + values.Get("continue"), "phase=Queued,Running", "queue=research"}
	if err != nil || !slices.Equal(read, want) {
		t.Errorf("read %q, %v", read, err)
	}
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		values url.Values
		detail string
	}{
		"queue":    {url.Values{"queue": {"a", "b"}}, "more than once"},
		"user":     {url.Values{"user": {strings.Repeat("x", 254)}}, "more than 253 bytes"},
		"continue": {url.Values{"continue": {strings.Repeat("x", 1025)}}, "more than 1024 bytes"},
		"colour":   {url.Values{"colour": {"red"}}, "does not have it"},
	} {
		err := reader.Each(test.values, func(name, _ string) error {
			if name == "colour" {
				return parameters.Unknown(name)
			}
			return nil
		})
		var p *problem.Problem
		if !errors.As(err, &p) || p.Field != "query."+name || !strings.Contains(p.Detail, test.detail) ||
			p.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
