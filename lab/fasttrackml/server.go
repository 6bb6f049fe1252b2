package fasttrackml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// pollInterval of every wait.
const pollInterval = 50 * time.Millisecond

// Options of a Server.
type Options struct {
	// Dir is an existing folder for its database, artifacts and log.
	Dir string
	// Username and Password that it asks for, by basic authentication. Empty: it asks for none.
	Username, Password string
	// Progress receives how far the build is, where there is one. Default: nothing.
	Progress io.Writer
}

// Server is a FastTrackML that runs, or did.
type Server struct {
	// URL of the server. MLflow's API is at /api/2.0/mlflow below it.
	URL string

	options  Options
	launcher *process.Launcher
	process  process.Process
}

// Start builds FastTrackML where it is not in the cache, which takes minutes, starts it and waits until it
// answers. If it fails it leaves nothing running; otherwise the caller must call Stop.
func Start(ctx context.Context, o Options) (*Server, error) {
	path, err := build(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	cache, err := components.FindCache("")
	if err != nil {
		return nil, err
	}
	ports, release, err := layout.ChoosePorts(filepath.Join(cache, "ports"), []string{components.FastTrackML})
	if err != nil {
		return nil, err
	}
	defer release()
	address := layout.LocalAddress(ports[components.FastTrackML])
	s := &Server{
		URL: "http://" + address, options: o, launcher: process.NewLauncher(true),
		process: process.Process{
			Name: components.FastTrackML, Path: path, Ports: []int{ports[components.FastTrackML]},
			Log: filepath.Join(o.Dir, "fasttrackml.log"),
			Args: []string{
				"server", "--listen-address=" + address,
				"--database-uri=sqlite://" + filepath.Join(o.Dir, "fasttrackml.db"),
				"--default-artifact-root=" + filepath.Join(o.Dir, "artifacts"),
			},
			Env: []string{"MLFLOW_TRACKING_USERNAME=" + o.Username, "MLFLOW_TRACKING_PASSWORD=" + o.Password},
		},
	}
	if err := s.StartAgain(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func build(ctx context.Context, progress io.Writer) (string, error) {
	modules, err := components.FindModules("")
	if err != nil {
		return "", err
	}
	cache, err := components.FindCache("")
	if err != nil {
		return "", err
	}
	built, err := components.Build(ctx, components.Options{
		Modules: modules, Cache: cache, Names: []string{components.FastTrackML}, Progress: progress,
	})
	if err != nil {
		return "", err
	}
	return built.Path(components.FastTrackML, "fasttrackml"), nil
}

// StartAgain starts a server that does not run, and waits until it answers.
func (s *Server) StartAgain(ctx context.Context) error {
	if err := s.launcher.Start(&s.process); err != nil {
		return err
	}
	return s.process.WaitUntil(ctx, "FastTrackML", s.answers)
}

func (s *Server) answers(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/health", nil)
	if err != nil {
		return err
	}
	if s.options.Username != "" {
		request.SetBasicAuth(s.options.Username, s.options.Password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// Kill ends the process at once, as a crash of its machine would. Its folder stays.
func (s *Server) Kill(ctx context.Context) error {
	if !s.process.Alive() {
		return nil
	}
	if err := syscall.Kill(s.process.PID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing FastTrackML: %w", err)
	}
	return wait.PollUntilContextTimeout(ctx, pollInterval, process.StopWithin, true,
		func(context.Context) (bool, error) { return !s.process.Alive(), nil })
}

// Stop ends the process for good and waits for its exit. Its folder stays.
func (s *Server) Stop(ctx context.Context) error {
	defer s.launcher.Close()
	return s.process.Stop(ctx)
}
