package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

const (
	maxTokenBytes = 16 << 10
	maxCABytes    = 256 << 10
)

// server is the report server, and the credentials on both sides.
type server struct {
	url, tokenFile, caFile, caPEM string
}

// serverFlags adds the server's flags, whose defaults come from the environment.
func serverFlags(f *flag.FlagSet, env func(string) string) *server {
	s := &server{caPEM: env(checkpoint.EnvCA)}
	f.StringVar(&s.url, "report-url", env(checkpoint.EnvReportURL),
		"https URL that reports go to; empty: nowhere")
	f.StringVar(&s.tokenFile, "token-file", env(checkpoint.EnvTokenFile),
		"file with the token that a report carries")
	f.StringVar(&s.caFile, "ca-file", "", "file with the server's CA certificates; default $"+checkpoint.EnvCA)
	return s
}

func (s server) validate() error {
	if s.url == "" {
		return nil
	}
	if !strings.HasPrefix(s.url, "https://") {
		return fmt.Errorf("report-url is %q: use https, a token goes along", s.url)
	}
	if s.tokenFile == "" {
		return errors.New("report-url is given, and no token-file: the operator refuses reports without one")
	}
	return nil
}

func (s server) client() *reportclient.Client {
	return &reportclient.Client{URL: s.url, UserAgent: "trainingjob-agent/" + Version, Token: s.token, CA: s.ca}
}

// token reads the token for each report, since the kubelet renews it.
func (s server) token(context.Context) (string, error) {
	data, err := readBounded(s.tokenFile, maxTokenBytes)
	token := strings.TrimSpace(string(data))
	switch {
	case err != nil:
	case len(data) > maxTokenBytes:
		err = fmt.Errorf("%s has more than %d bytes", s.tokenFile, maxTokenBytes)
	case token == "":
		err = fmt.Errorf("%s holds no token", s.tokenFile)
	}
	return token, err
}

// ca reads the CA from the file, if there is one, else from the environment.
func (s server) ca() (string, error) {
	switch {
	case s.caFile == "" && s.caPEM == "":
		return "", errors.New("there is none: give --ca-file or $" + checkpoint.EnvCA)
	case s.caFile == "":
		return s.caPEM, nil
	}
	data, err := readBounded(s.caFile, maxCABytes)
	return string(data), err
}
