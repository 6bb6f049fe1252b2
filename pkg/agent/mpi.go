package agent

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// mpiOptions of `agent mpi-launcher` and `agent mpi-worker`.
type mpiOptions struct {
	// key is the directory with the job's private key; dir is where ssh and sshd look for what they need.
	key, dir string
	// publicKey of the job, as in authorized_keys.
	publicKey string
	// port on which workers answer.
	port int
	// workers are how many there are, and firstWorker is the host name of the one with index 0; only the
	// launcher's.
	workers     int
	firstWorker string
	// timeout bounds the wait for the workers.
	timeout time.Duration
	command []string
}

// workersTimeout is longer than the operator lets a gang take to start (lifecycle.startTimeoutSeconds, 30
// minutes by default): it is for workers that run and do not answer.
const workersTimeout = 45 * time.Minute

func parseMPI(role string, args []string, stderr io.Writer) (*mpiOptions, error) {
	o := &mpiOptions{}
	f := flag.NewFlagSet("agent "+role, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.key, "key", "", "directory with the job's private key, "+secretKeyFile)
	f.StringVar(&o.dir, "dir", "", "directory to write what ssh and sshd need to")
	f.StringVar(&o.publicKey, "public-key", "", "the only key that is accepted, as in authorized_keys")
	f.IntVar(&o.port, "port", 2222, "port on which the workers answer")
	if role == mpiLauncherCommand {
		f.IntVar(&o.workers, "workers", 0, "number of workers to wait for")
		f.StringVar(&o.firstWorker, "first-worker", "", "host name of the worker with index 0")
		f.DurationVar(&o.timeout, "timeout", workersTimeout, "how long to wait for the workers")
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = f.Args()
	var errs []error
	for _, required := range []struct{ name, value string }{
		{"key", o.key}, {"dir", o.dir}, {"public-key", o.publicKey},
	} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("%s is empty: give one", required.name))
		}
	}
	if o.port < 1 || o.port > 65535 {
		errs = append(errs, fmt.Errorf("port is %d: give one from 1 to 65535", o.port))
	}
	if _, err := workerHosts(o.firstWorker, o.workers); err != nil {
		errs = append(errs, err)
	}
	if len(o.command) == 0 {
		errs = append(errs, errors.New("no command: write it after --"))
	}
	return o, errors.Join(errs...)
}

const (
	mpiLauncherCommand = "mpi-launcher"
	mpiWorkerCommand   = "mpi-worker"
)

// mpiCommand runs a launcher or a worker of MPI. It returns only if the command could not be started, or when
// a worker has ended.
func mpiCommand(role string, args []string, stderr io.Writer) int {
	o, err := parseMPI(role, args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 2
	}
	if err := prepareSSH(o, os.Environ()); err != nil {
		fmt.Fprintln(stderr, "agent: preparing ssh:", err)
		return 1
	}
	if role == mpiWorkerCommand {
		makePrivilegeSeparation()
		return runMPI(o.command, true, stderr)
	}
	hosts, _ := workerHosts(o.firstWorker, o.workers) // parsed before
	if err := awaitWorkers(hosts, o.port, o.timeout, stderr); err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 1
	}
	if err := addInterface(); err != nil {
		fmt.Fprintln(stderr, "agent: telling Hydra its interface:", err)
		return 1
	}
	return runMPI(o.command, false, stderr)
}

// makePrivilegeSeparation creates the directory where sshd separates its privileges as root (sshd.c, 9.2).
// Debian creates it at boot, and no container boots. If that fails, sshd reports it.
func makePrivilegeSeparation() {
	if os.Getuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755)
	}
}

// sessionPoll is how often an agent looks for processes of the job after SIGTERM.
const sessionPoll = 200 * time.Millisecond

// runMPI runs mpirun in the launcher, or sshd, or the user's replacement of either, until it ends. It returns
// the exit code.
//
// It passes SIGTERM to the processes of MPI in this container, and not to the command. Open MPI's mpirun
// would signal its processes late and give them little time: it waits equally long between SIGCONT, SIGTERM
// and SIGKILL, by default a second (orte/mca/odls/base/odls_base_default_fns.c, 4.1.4). mpirun ends after its
// processes. A server ends when no process of the job is left on its worker, since the processes report their
// end to the launcher through it.
func runMPI(command []string, server bool, stderr io.Writer) int {
	becomeSubreaper()
	signals, children := make(chan os.Signal, 16), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(children, syscall.SIGCHLD)
	started, err := startTrainer(command, os.Stderr)
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		failed := &startError{code: 126}
		errors.As(err, &failed)
		return failed.code
	}
	signaled := map[int]bool{}
	var poll <-chan time.Time
	for !started.reap() {
		select {
		case <-children:
			continue
		case <-signals:
			fmt.Fprintln(stderr, "agent: terminating: waiting for the job's processes")
		case <-poll:
		}
		poll = time.After(sessionPoll)
		family := descendants()
		for _, pid := range ranksOf(family) {
			if !signaled[pid] { // also one that has just started
				signaled[pid] = true
				_ = syscall.Kill(pid, syscall.SIGTERM) // an error means that it has just ended
			}
		}
		if delete(family, started.pid); server && len(family) == 0 {
			started.signal(syscall.SIGTERM, false)
		}
	}
	return exitCode(started.wait)
}
