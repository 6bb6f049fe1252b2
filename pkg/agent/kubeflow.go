package agent

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Variables of Kubeflow Trainer's progress protocol. With the first one, the Trainer of Transformers reports
// its progress there, whatever its report_to is (integrations/integration_utils.py, KubeflowCallback, and
// training_args.py, transformers 5.24).
const (
	envKubeflowURL   = "KUBEFLOW_TRAINER_SERVER_URL"
	envKubeflowToken = "KUBEFLOW_TRAINER_SERVER_TOKEN" // the path of a file
)

const (
	kubeflowPath      = "/status"
	kubeflowTokenFile = "kubeflow-token"
	loopback          = "127.0.0.1"

	maxKubeflowBytes = 64 << 10 // as Trainer's server
	// maxKubeflowConns bounds open connections, maxKubeflowRate the requests of a second. The callback opens one
	// connection every five seconds, and more at the beginning and the end.
	maxKubeflowConns = 4
	maxKubeflowRate  = 10
	kubeflowTimeout  = 5 * time.Second // of the callback, for one request
)

// kubeflowServer receives the progress of the trainer in the agent's own pod.
type kubeflowServer struct {
	state *state
	clock clock
	token string

	mu     sync.Mutex
	conns  int
	second time.Time // when the current second of requests began
	count  int       // of requests in it
}

// serveKubeflow starts a server on loopback, and adds its address to the environment of the trainer. Nothing
// changes if the user's own environment names a server. A failure only costs the progress.
func (r *runner) serveKubeflow() (stop func()) {
	stop = func() {}
	if !r.opts.kubeflow || r.opts.rank != 0 || r.opts.statusFile == "" {
		return stop
	}
	for _, name := range []string{envKubeflowURL, envKubeflowToken} {
		if _, isSet := os.LookupEnv(name); isSet {
			r.log.Printf("%s is set: the trainer reports its progress to that server, not to the operator", name)
			return stop
		}
	}
	s := &kubeflowServer{state: r.state, clock: r.clock, token: rand.Text()}
	stop, err := s.start(filepath.Join(filepath.Dir(r.opts.statusFile), kubeflowTokenFile))
	if err != nil {
		r.log.Printf("receiving progress by Kubeflow's protocol: %v", err)
		return func() {}
	}
	return stop
}

func (s *kubeflowServer) start(tokenFile string) (stop func(), err error) {
	err = writeAtomically(tokenFile, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, s.token)
		return err
	})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	err = errors.Join(
		os.Setenv(envKubeflowURL, "http://"+listener.Addr().String()+kubeflowPath),
		os.Setenv(envKubeflowToken, tokenFile), bypassProxy())
	if err != nil {
		listener.Close()
		return nil, err
	}
	server := s.server()
	go server.Serve(listener)
	return func() {
		server.Close()
		os.Remove(tokenFile)
	}, nil
}

// bypassProxy keeps the trainer from sending its progress to a proxy.
func bypassProxy() error {
	proxies := false
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		proxies = proxies || value != "" && strings.HasSuffix(strings.ToLower(name), "_proxy")
	}
	if !proxies {
		return nil
	}
	// Python ignores NO_PROXY where no_proxy is set, even to nothing (getproxies_environment in
	// urllib/request.py).
	names := []string{"no_proxy", "NO_PROXY"}
	set := 0
	for _, name := range names {
		if value, isSet := os.LookupEnv(name); isSet {
			set++
			if err := os.Setenv(name, withLoopback(value)); err != nil {
				return err
			}
		}
	}
	if set > 0 {
		return nil
	}
	return errors.Join(os.Setenv(names[0], loopback), os.Setenv(names[1], loopback))
}

// withLoopback adds loopback to the hosts of a variable. A star alone is every host; in a list it is none.
func withLoopback(hosts string) string {
	switch strings.TrimSpace(hosts) {
	case "*":
		return hosts
	case "":
		return loopback
	}
	return hosts + "," + loopback
}

func (s *kubeflowServer) server() *http.Server {
	return &http.Server{
		Handler: s, ReadTimeout: kubeflowTimeout, WriteTimeout: kubeflowTimeout, IdleTimeout: kubeflowTimeout,
		MaxHeaderBytes: 8 << 10, ConnState: s.countConn,
		ErrorLog: log.New(io.Discard, "", 0), // a client's mistakes are in its answers
	}
}

// countConn closes new connections beyond the bound.
func (s *kubeflowServer) countConn(c net.Conn, to http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch to {
	case http.StateNew:
		if s.conns++; s.conns > maxKubeflowConns {
			c.Close() // StateClosed follows
		}
	case http.StateClosed, http.StateHijacked:
		s.conns--
	}
}

// isAllowed counts a request, and reports whether its second still has one.
func (s *kubeflowServer) isAllowed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if d := now.Sub(s.second); d < 0 || d >= time.Second {
		s.second, s.count = now, 0
	}
	s.count++
	return s.count <= maxKubeflowRate
}

// ServeHTTP answers as Trainer's server does: 200 with the body again, 403, 404, 413 and 422.
func (s *kubeflowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(code int, why string) { http.Error(w, why, code) }
	sent := []byte(r.Header.Get("Authorization"))
	switch {
	case !s.isAllowed():
		refuse(http.StatusTooManyRequests, "too many requests")
		return
	case r.Method != http.MethodPost || r.URL.Path != kubeflowPath:
		refuse(http.StatusNotFound, "not found")
		return
	case subtle.ConstantTimeCompare(sent, []byte("Bearer "+s.token)) != 1:
		refuse(http.StatusForbidden, "forbidden: send the token in $"+envKubeflowToken)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxKubeflowBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", maxKubeflowBytes))
		return
	}
	var m kubeflowMessage
	if err == nil {
		m, err = parseKubeflow(body)
	}
	if err != nil {
		refuse(http.StatusUnprocessableEntity, checkpoint.Printable(err.Error(), 300))
		return
	}
	s.state.takeKubeflow(m, s.clock.Now())
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}
