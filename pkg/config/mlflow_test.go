package config

import (
	"strings"
	"testing"
)

// TestTrackingURI: every rank is given it, and everybody who may read pods reads it.
func TestTrackingURI(t *testing.T) {
	for _, good := range []string{
		"http://mlflow.mlflow.svc:5000", "https://mlflow.example.com", "https://mlflow.example.com/",
		"https://tools.example.com/mlflow/v2.1/", "http://10.0.0.1:5000", "http://[fd00::1]:5000",
	} {
		if problem := trackingURIProblem(good); problem != "" {
			t.Errorf("%s %s", good, problem)
		}
	}
	for bad, says := range map[string]string{
		"file:///mlruns":                            "begin with http",
		"databricks":                                "begin with http",
		"mlflow.example.com:5000":                   "begin with http",
		"http://":                                   "a host name",
		"http://a b":                                "cannot be read",
		"http://Mlflow_1":                           "a host name",
		"http://user:hush@mlflow.example.com":       "credentials",
		"http://mlflow.example.com?token=hush":      "a query",
		"http://mlflow.example.com?":                "a query",
		"http://mlflow.example.com#":                "a fragment",
		"http://mlflow.example.com/../x":            "a path",
		"http://mlflow.example.com//x":              "a path",
		"http://mlflow.example.com/%2e%2e":          "a path",
		"http://mlflow.example.com/$(POD_IP)":       "a path",
		"http://mlflow.example.com:0":               "a port",
		"http://mlflow.example.com:":                "a port",
		"http://" + strings.Repeat("a.", 124) + "a": "253 characters",
	} {
		if problem := trackingURIProblem(bad); !strings.Contains(problem, says) {
			t.Errorf("%s: want %q, got %q", bad, says, problem)
		}
	}
}

// TestMLflowKeepsCredentials: a mistake is named with its key, and not repeated.
func TestMLflowKeepsCredentials(t *testing.T) {
	_, err := Parse([]byte(head + "mlflow: {trackingURI: 'http://me:hush@mlflow.example.com'}"))
	if err == nil || !strings.Contains(err.Error(), "mlflow.trackingURI") ||
		strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
}
