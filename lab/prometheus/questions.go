package prometheus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// AlertState is what an alerting rule says, over all its alerts: the worst of them.
type AlertState string

const (
	// Inactive: its expression has no result.
	Inactive AlertState = "inactive"
	// Pending: it has one, and not yet for as long as the rule wants.
	Pending AlertState = "pending"
	// Firing: it has.
	Firing AlertState = "firing"
)

// Query returns the samples of an expression now. A scalar is one sample without labels.
func (s *Server) Query(ctx context.Context, expression string) (model.Vector, error) {
	value, warnings, err := s.API.Query(ctx, expression, time.Time{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("querying %s: %w", expression, err)
	case len(warnings) > 0:
		return nil, fmt.Errorf("querying %s: %s", expression, strings.Join(warnings, "; "))
	}
	switch v := value.(type) {
	case model.Vector:
		return v, nil
	case *model.Scalar:
		return model.Vector{{Value: v.Value, Timestamp: v.Timestamp}}, nil
	}
	return nil, fmt.Errorf("querying %s: it answers %s, not an instant vector", expression, value.Type())
}

// WaitForTargets waits until at least so many targets are scraped, and the last scrape of each has succeeded.
func (s *Server) WaitForTargets(ctx context.Context, targets int) error {
	what := fmt.Sprintf("%d targets are scraped", targets)
	return s.wait(ctx, what, func(ctx context.Context) (string, error) {
		found, err := s.API.Targets(ctx)
		if err != nil {
			return err.Error(), nil
		}
		if len(found.Active) < targets {
			return fmt.Sprintf("%d targets", len(found.Active)), nil
		}
		for _, target := range found.Active {
			if target.Health != v1.HealthGood {
				return fmt.Sprintf("%s is %s: %s", target.ScrapeURL, target.Health, target.LastError), nil
			}
		}
		return "", nil
	})
}

// WaitForSamples waits until an expression has samples with which enough is content, and returns them. Enough
// returns "", or says what is missing. An expression that Prometheus refuses ends the wait.
func (s *Server) WaitForSamples(
	ctx context.Context, expression string, enough func(model.Vector) string,
) (model.Vector, error) {
	var samples model.Vector
	err := s.wait(ctx, expression+" has its samples", func(ctx context.Context) (missing string, err error) {
		samples, err = s.Query(ctx, expression)
		if refused := (*v1.Error)(nil); errors.As(err, &refused) && refused.Type == v1.ErrBadData {
			return "", err
		}
		if err != nil {
			return err.Error(), nil
		}
		return enough(samples), nil
	})
	return samples, err
}

// WaitForAlert waits until an alerting rule is in a state, and returns it with its alerts. Of rules with the
// same alert's name it is the first in that state. There must be one of that name.
func (s *Server) WaitForAlert(ctx context.Context, name string, state AlertState) (v1.AlertingRule, error) {
	var found v1.AlertingRule
	err := s.wait(ctx, fmt.Sprintf("%s is %s", name, state), func(ctx context.Context) (string, error) {
		rules, err := s.alertingRules(ctx, name)
		if err != nil {
			return err.Error(), nil
		}
		if len(rules) == 0 {
			return "", fmt.Errorf("no rule has the alert %s", name)
		}
		for _, rule := range rules {
			// Before its first evaluation a rule is inactive, whatever it will say.
			if rule.State == string(state) && !rule.LastEvaluation.IsZero() {
				found = rule
				return "", nil
			}
		}
		return fmt.Sprintf("it is %s (%s)", rules[0].State, rules[0].LastError), nil
	})
	return found, err
}

// alertingRules with the name.
func (s *Server) alertingRules(ctx context.Context, name string) ([]v1.AlertingRule, error) {
	result, err := s.API.Rules(ctx, nil)
	if err != nil {
		return nil, err
	}
	var found []v1.AlertingRule
	for _, group := range result.Groups {
		for _, rule := range group.Rules {
			if alerting, is := rule.(v1.AlertingRule); is && alerting.Name == name {
				found = append(found, alerting)
			}
		}
	}
	return found, nil
}
