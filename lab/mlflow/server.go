package mlflow

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/python"
)

const (
	// name of the process, its lock and its files.
	name = "mlflow"
	// pollInterval of every wait.
	pollInterval = 50 * time.Millisecond
)

// Options of a Server.
type Options struct {
	// Dir is an existing folder for its database, artifacts and log.
	Dir string
	// Authentication runs MLflow's basic-auth app: the server accepts the administrator, and users that
	// CreateUser creates. Each may read what others created, and change what they created themselves.
	Authentication bool
}

// Server is a tracking server of MLflow.
type Server struct {
	// URL of the server. Its API is at /api/2.0/mlflow below it.
	URL string
	// Admin is the administrator, if the server authenticates.
	Admin User

	launcher *process.Launcher
	process  process.Process
}

// User of a Server that authenticates.
type User struct{ Name, Password string }

// Start installs MLflow unless it is in the cache, starts a server and waits until it is ready. If it fails
// it leaves nothing running; otherwise the caller must call Stop.
func Start(ctx context.Context, o Options) (*Server, error) {
	interpreter, err := python.Environment(ctx, name)
	if err != nil {
		return nil, err
	}
	cache, err := components.FindCache("")
	if err != nil {
		return nil, err
	}
	ports, release, err := layout.ChoosePorts(filepath.Join(cache, "ports"), []string{name})
	if err != nil {
		return nil, err
	}
	defer release()
	s := &Server{
		URL: "http://" + layout.LocalAddress(ports[name]), launcher: process.NewLauncher(true),
		process: process.Process{
			Name: name, Path: interpreter, Ports: []int{ports[name]}, Log: filepath.Join(o.Dir, name+".log"),
			// -I ignores the caller's PYTHON variables and working directory.
			Args: []string{"-I", "-m", "uvicorn", "--host", "127.0.0.1", "--port", fmt.Sprint(ports[name])},
			Env: []string{
				"MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true", "_MLFLOW_SGI_NAME=uvicorn",
				"_MLFLOW_SERVER_FILE_STORE=sqlite:///" + filepath.Join(o.Dir, name+".db"),
				"_MLFLOW_SERVER_ARTIFACT_ROOT=" + filepath.Join(o.Dir, "artifacts"),
			},
		},
	}
	if !o.Authentication {
		s.process.Args = append(s.process.Args, "mlflow.server.fastapi_app:app")
	} else if err := s.authenticate(o.Dir); err != nil {
		s.launcher.Close()
		return nil, err
	}
	if err := s.StartAgain(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// authenticate makes the server one that knows only an administrator. Without the cache each request would
// take the time that a hash of the password takes.
func (s *Server) authenticate(dir string) error {
	const configuration = `[mlflow]
default_permission = READ
database_uri = sqlite:///%s
auth_cache_ttl_seconds = 3600
`
	path := filepath.Join(dir, "basic_auth.ini")
	text := fmt.Sprintf(configuration, filepath.Join(dir, "users.db"))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("configuring MLflow's users: %w", err)
	}
	s.Admin = User{"admin", rand.Text()}
	s.process.Args = append(s.process.Args, "--factory", "mlflow.server.auth:create_app")
	s.process.Env = append(s.process.Env,
		"MLFLOW_AUTH_CONFIG_PATH="+path, "MLFLOW_FLASK_SERVER_SECRET_KEY="+rand.Text(),
		"MLFLOW_AUTH_ADMIN_USERNAME="+s.Admin.Name, "MLFLOW_AUTH_ADMIN_PASSWORD="+s.Admin.Password)
	return nil
}

// StartAgain starts a server that does not run, and waits until it is ready.
func (s *Server) StartAgain(ctx context.Context) error {
	if err := s.launcher.Start(&s.process); err != nil {
		return err
	}
	return s.process.WaitUntil(ctx, "MLflow", func(ctx context.Context) error {
		// The first request that needs the database creates its tables.
		return s.Post(ctx, s.Admin, "2.0/mlflow/experiments/search", map[string]any{"max_results": 1}, nil)
	})
}

// CreateUser creates a user on a server that authenticates. It has no rights on what others created, except
// to read it.
func (s *Server) CreateUser(ctx context.Context, name string) (User, error) {
	u := User{name, rand.Text()}
	in := map[string]string{"username": u.Name, "password": u.Password}
	return u, s.Post(ctx, s.Admin, "2.0/mlflow/users/create", in, nil)
}

// Post calls MLflow's API, such as 2.0/mlflow/runs/create, as a user. The zero User sends no credentials. out
// receives the response unless it is nil.
func (s *Server) Post(ctx context.Context, as User, call string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/api/"+call,
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if as != (User{}) {
		request.SetBasicAuth(as.Name, as.Password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", call, response.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// Kill ends the process at once, as a crash of its machine would. Its folder stays.
func (s *Server) Kill(ctx context.Context) error {
	if !s.process.Alive() {
		return nil
	}
	if err := syscall.Kill(s.process.PID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing MLflow: %w", err)
	}
	return wait.PollUntilContextTimeout(ctx, pollInterval, process.StopWithin, true,
		func(context.Context) (bool, error) { return !s.process.Alive(), nil })
}

// Stop ends the process and waits for its exit. Its folder stays.
func (s *Server) Stop(ctx context.Context) error {
	defer s.launcher.Close()
	return s.process.Stop(ctx)
}
