package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

const (
	maxTokenBytes = 16 << 10
	maxCABytes    = 256 << 10
)

// server is where reports go, and what proves to it and to us who is who.
type server struct {
	url, tokenFile, caFile, caPEM string
}

func (s server) client() *reportclient.Client {
	return &reportclient.Client{URL: s.url, UserAgent: "trainingjob-agent/" + version, Token: s.token, CA: s.ca}
}

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

// ca of the file, where there is one, else of the environment.
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
