package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// packageUser is the user that Debian's package creates for its servers.
const packageUser = "postgres"

// Options of a Server.
type Options struct {
	// Bin is the folder of the programs. Default: that of Debian's newest version.
	Bin string
	// Settings are lines of postgresql.conf beyond the default, by name.
	Settings map[string]string
}

// Server is a PostgreSQL that runs.
type Server struct {
	// DSN of the database postgres, as its superuser. Other users of the machine cannot open the socket.
	DSN string

	bin, dir string
	as       []string
	launcher *process.Launcher
	process  process.Process
}

// Start makes a database cluster, starts a server for it and waits until it answers. If it fails it leaves
// nothing; otherwise the caller must call Stop.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{bin: o.Bin, launcher: process.NewLauncher(true)}
	if err := s.start(ctx, o.Settings); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, settings map[string]string) (err error) {
	if s.bin == "" {
		if s.bin, err = newest(); err != nil {
			return err
		}
	}
	if err := s.prepare(); err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	if err := s.run(ctx, "initdb", "--pgdata", data, "--username", packageUser, "--auth", "trust", "--no-sync",
		"--encoding", "UTF8", "--locale", "C", "--no-instructions"); err != nil {
		return err
	}
	args := []string{"-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off"}
	for name, value := range settings {
		args = append(args, "-c", name+"="+value)
	}
	command := s.command("postgres", args...)
	s.process = process.Process{
		Name: "postgres", Path: command[0], Args: command[1:], Log: filepath.Join(s.dir, "log"),
	}
	if err := s.launcher.Start(&s.process); err != nil {
		return err
	}
	s.DSN = s.dsn("postgres")
	return s.process.WaitUntil(ctx, "PostgreSQL", func(ctx context.Context) error {
		return s.run(ctx, "pg_isready", "--quiet", "--host", s.dir)
	})
}

// newest is the folder of the newest version that is installed.
func newest() (string, error) {
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(folders) == 0 {
		return "", errors.New("finding PostgreSQL: /usr/lib/postgresql has none (test/e2e/install.sh installs it)")
	}
	version := func(dir string) string { return "v" + filepath.Base(filepath.Dir(dir)) }
	return slices.MaxFunc(folders, func(a, b string) int { return semver.Compare(version(a), version(b)) }), nil
}

// prepare makes a folder of the user whose the server is. Its path is short: that of a socket has 107 bytes.
func (s *Server) prepare() (err error) {
	if s.dir, err = os.MkdirTemp("", "postgres-"); err != nil {
		return fmt.Errorf("making a folder for PostgreSQL: %w", err)
	}
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(packageUser)
	if err != nil {
		return fmt.Errorf("finding the user of PostgreSQL's package: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return fmt.Errorf("reading the number of user %s: %w", packageUser, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return fmt.Errorf("reading the group of user %s: %w", packageUser, err)
	}
	// The kernel forgets whose end the server's is to follow when it becomes another user's, so setpriv says
	// it.
	s.as = []string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups", "--pdeathsig", "KILL", "--"}
	if s.as[0], err = exec.LookPath(s.as[0]); err != nil {
		return fmt.Errorf("finding setpriv (Debian's util-linux): %w", err)
	}
	return os.Chown(s.dir, uid, gid)
}

// command of a program of the package, as the server's user.
func (s *Server) command(program string, args ...string) []string {
	return slices.Concat(s.as, []string{filepath.Join(s.bin, program)}, args)
}

func (s *Server) run(ctx context.Context, program string, args ...string) error {
	command := s.command(program, args...)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = s.dir // the server's user may not enter ours
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running %s: %w\n%s", program, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Create makes an empty database, which goes with the server, and returns its DSN.
func (s *Server) Create(ctx context.Context, name string) (string, error) {
	if err := s.run(ctx, "createdb", "--host", s.dir, "--username", packageUser, "--", name); err != nil {
		return "", fmt.Errorf("creating database %s: %w", name, err)
	}
	return s.dsn(name), nil
}

func (s *Server) dsn(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(packageUser), Path: "/" + database}
	u.RawQuery = url.Values{"host": {s.dir}}.Encode()
	return u.String()
}

// Stop ends the server with all its connections, waits for its end and removes its folder.
func (s *Server) Stop(ctx context.Context) error {
	defer s.launcher.Close()
	var stopped error
	if s.process.Alive() {
		// On SIGTERM it would wait until its clients have left.
		stopped = s.run(ctx, "pg_ctl", "--pgdata", filepath.Join(s.dir, "data"), "--mode", "fast", "--wait", "stop")
	}
	return errors.Join(stopped, s.process.Stop(ctx), os.RemoveAll(s.dir))
}
