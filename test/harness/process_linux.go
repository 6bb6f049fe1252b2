package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// Process is the operator's binary beside a Cluster, with exactly the rights that ship with it. It can be
// killed and restarted at the same addresses.
type Process struct {
	// Config is what it runs with.
	Config config.OperatorConfiguration

	binary, configuration, kubeconfig, logFile string
	// release gives the ports up.
	release func()
	cmd     *exec.Cmd
}

// NewProcess builds the operator and writes its files into dir. It serves metrics, as it does by default, and
// reports, on addresses of its own; edit changes its configuration. The caller must call Release.
func (c *Cluster) NewProcess(
	ctx context.Context, dir string, edit func(*config.OperatorConfiguration),
) (*Process, error) {
	binary, err := BuildProgram(ctx, dir, "operator")
	if err != nil {
		return nil, err
	}
	p := &Process{
		Config: config.Default(), binary: binary,
		configuration: filepath.Join(dir, "config.yaml"), kubeconfig: filepath.Join(dir, "kubeconfig"),
		logFile: filepath.Join(dir, "operator.log"),
	}
	kubeconfig, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		return nil, err
	}
	for _, user := range kubeconfig.AuthInfos {
		user.Impersonate = OperatorUser
	}
	addresses, release, err := FreeAddresses(3)
	if err != nil {
		return nil, err
	}
	p.release = release
	p.Config.LeaderElection.Enabled = false // after a kill the next one would wait for its lease
	p.Config.Health.BindAddress, p.Config.Metrics.BindAddress = addresses[0], addresses[1]
	p.Config.Agent.Image = "registry.example.com/agent:1"
	p.Config.Reports.BindAddress, p.Config.Reports.URL = addresses[2], "https://"+addresses[2]
	p.Config.Reports.CertificateDir = filepath.Join(dir, "certificates")
	edit(&p.Config)
	configuration, err := yaml.Marshal(p.Config)
	if err == nil {
		err = errors.Join(
			clientcmd.WriteToFile(*kubeconfig, p.kubeconfig),
			os.WriteFile(p.configuration, configuration, 0o600),
			WriteCertificate(p.Config.Reports.CertificateDir),
		)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("configuring the operator: %w", err)
	}
	return p, nil
}

// WriteCertificate makes dir, with the files that a report server on 127.0.0.1 reads. The certificate is its
// own authority.
func WriteCertificate(dir string) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	return errors.Join(
		os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600),
		os.WriteFile(filepath.Join(dir, "ca.crt"), certificate, 0o600),
	)
}

// Start the binary, and wait until it sees what exists.
func (p *Process) Start(ctx context.Context) error {
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.binary, "--config", p.configuration, "--kubeconfig", p.kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("starting the operator: %w", err)
	}
	ready := "http://" + p.Config.Health.BindAddress + "/readyz"
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, ready, nil)
			if err != nil {
				return false, err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return false, nil
			}
			defer resp.Body.Close()
			return resp.StatusCode == http.StatusOK, nil
		})
	if err != nil {
		p.WriteLog(os.Stderr)
		p.Kill()
		return fmt.Errorf("waiting until the operator is ready: %w", err)
	}
	return nil
}

// PID of the binary that was started last.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill it as a node's death does: it has no say.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// Release gives its ports to others.
func (p *Process) Release() { p.release() }

// WriteLog writes what it has logged so far.
func (p *Process) WriteLog(to io.Writer) {
	text, err := os.ReadFile(p.logFile)
	fmt.Fprintf(to, "the operator's log (%v):\n%s\n", err, text)
}
