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

// visitorName is the user that the demo's link logs in; visitor.yaml has its rights.
const visitorName = "demo:visitor"

// server is the server of history and board that runs next to a cluster.
type server struct{ process }

// newServer returns a server with its files in a folder.
func newServer(folder, path string) server { return server{process{"server", folder, path}} }

// linkFile has the link that logs a browser in, once.
func (s server) linkFile() string { return s.file(".link") }

// configure writes the configuration: a history in the cluster's folder, and pages for browsers of this
// machine only.
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

// configured returns the configuration of an earlier demo.
func (s server) configured() (config.ServerConfiguration, error) {
	c, err := config.Load(s.process.config())
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("no demo has run on this cluster; run one: make demo")
	}
	return c, err
}

// forgetLink removes the link of an earlier process, which is no longer valid.
func (s server) forgetLink() error {
	if err := os.Remove(s.linkFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the link of an earlier server: %w", err)
	}
	return nil
}

// link returns the link that the server wrote when it started.
func (s server) link() (string, error) {
	text, err := os.ReadFile(s.linkFile())
	if err != nil {
		return "", fmt.Errorf("reading the server's link: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
