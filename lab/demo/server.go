package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
)

// visitorName is who a browser is that logs in by the demo's link; visitor.yaml says what it may do.
const visitorName = "demo:visitor"

// server is the server of history and board beside a cluster.
type server struct{ process }

// newServer has its files in a folder.
func newServer(folder, path string) server { return server{process{"server", folder, path}} }

// linkFile has the link that logs a browser in, once.
func (s server) linkFile() string { return s.file(".link") }

// configure it: a history that goes with the cluster, and pages for browsers of this machine alone.
func (s server) configure(address, healthAddress string) error {
	folder, err := filepath.Abs(s.folder)
	if err != nil {
		return fmt.Errorf("finding the server's folder: %w", err)
	}
	here := server{process{s.name, folder, s.path}}
	c := config.Default()
	c.Listen.BindAddress, c.Health.BindAddress = address, healthAddress
	c.Metrics.BindAddress = config.Off
	c.Database.URL = "sqlite://" + here.file(".db")
	c.Board.OneTimeLink.User, c.Board.OneTimeLink.File = visitorName, here.linkFile()
	return s.process.configure(c)
}

// configured is the configuration that an earlier demo left.
func (s server) configured() (config.ServerConfiguration, error) {
	c, err := config.Load(s.process.config())
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("no demo has been played on this cluster; play one: make demo")
	}
	return c, err
}

// forgetLink of an earlier process, which counts no more.
func (s server) forgetLink() error {
	if err := os.Remove(s.linkFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the link of an earlier server: %w", err)
	}
	return nil
}

// link that the server wrote when it started.
func (s server) link() (string, error) {
	text, err := os.ReadFile(s.linkFile())
	if err != nil {
		return "", fmt.Errorf("reading the server's link: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
