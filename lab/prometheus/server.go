package prometheus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// pollInterval of every wait.
const pollInterval = 100 * time.Millisecond

// Options of a Server.
type Options struct {
	// Dir is an existing folder for its configuration, data and log.
	Dir string
	// Config is its configuration file. Relative paths in it are relative to Dir.
	Config []byte
	// Path of the binary. Default: prometheus, found as a shell finds it.
	Path string
}

// Server is a Prometheus that runs.
type Server struct {
	// API asks it.
	API v1.API
	// URL of its API and its pages.
	URL string

	launcher *process.Launcher
	process  process.Process
}

// Start starts a Prometheus and waits until it answers. If it fails it leaves nothing running; otherwise the
// caller must call Stop.
func Start(ctx context.Context, o Options) (s *Server, err error) {
	path := o.Path
	if path == "" {
		if path, err = exec.LookPath("prometheus"); err != nil {
			return nil, fmt.Errorf("finding Prometheus (test/e2e/install.sh installs it): %w", err)
		}
	}
	config := filepath.Join(o.Dir, "prometheus.yaml")
	if err := os.WriteFile(config, o.Config, 0o600); err != nil {
		return nil, fmt.Errorf("writing Prometheus' configuration: %w", err)
	}
	cache, err := components.FindCache("")
	if err != nil {
		return nil, err
	}
	ports, release, err := layout.ChoosePorts(filepath.Join(cache, "ports"), []string{"prometheus"})
	if err != nil {
		return nil, err
	}
	defer release()
	port := ports["prometheus"]
	address := layout.LocalAddress(port)
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	if err != nil {
		return nil, fmt.Errorf("making a client of Prometheus: %w", err)
	}
	s = &Server{
		API: v1.NewAPI(client), URL: "http://" + address,
		launcher: process.NewLauncher(true),
		process: process.Process{
			Name: "prometheus", Path: path, Ports: []int{port}, Log: filepath.Join(o.Dir, "prometheus.log"),
			Args: []string{
				"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(o.Dir, "data"),
				"--web.listen-address=" + address,
			},
		},
	}
	if err := s.launcher.Start(&s.process); err != nil {
		s.launcher.Close()
		return nil, err
	}
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// Stop ends the process and waits for its exit. Its folder stays.
func (s *Server) Stop(ctx context.Context) error {
	defer s.launcher.Close()
	return s.process.Stop(ctx)
}

func (s *Server) waitReady(ctx context.Context) error {
	return s.process.WaitUntil(ctx, "Prometheus", func(ctx context.Context) error {
		_, err := s.API.TSDB(ctx) // it answers while it still reads its data, but not this
		return err
	})
}

// wait until is returns ""; any other text says what is missing. An error ends the wait.
func (s *Server) wait(ctx context.Context, what string, is func(context.Context) (string, error)) error {
	last := "it was not asked"
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if !s.process.Alive() {
			return false, s.process.Died()
		}
		missing, err := is(ctx)
		if missing != "" && ctx.Err() == nil { // the context's end is no answer
			last = missing
		}
		return missing == "", err
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("waiting until %s: %w; last: %s", what, err, last)
	}
	return err
}
