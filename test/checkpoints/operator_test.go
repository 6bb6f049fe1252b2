//go:build cluster

package checkpoints

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

	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// operator is the binary, with exactly the rights that ship with it. It can be killed and restarted at the
// same addresses.
type operator struct {
	binary, configuration, kubeconfig, logFile string
	healthAt                                   string
	// release gives the ports up.
	release func()
	cmd     *exec.Cmd
}

func newOperator(ctx context.Context, dir string) (*operator, error) {
	o := &operator{
		binary: filepath.Join(dir, "operator"), configuration: filepath.Join(dir,
			"config.yaml"), kubeconfig: filepath.Join(dir, "kubeconfig"),
		logFile: filepath.Join(dir, "operator.log"),
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.binary,
		root+"/cmd/operator").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the operator: %w\n%s", err, out)
	}
	kubeconfig, err := clientcmd.LoadFromFile(cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	for _, user := range kubeconfig.AuthInfos {
		user.Impersonate = harness.OperatorUser
	}
	addresses, release, err := harness.FreeAddresses(3)
	if err != nil {
		return nil, err
	}
	o.healthAt, o.release = addresses[0], release
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}
	certificates := filepath.Join(dir, "certificates")
	configuration := fmt.Sprintf(`apiVersion: config.mlplatform.example.com/v1alpha1
kind: OperatorConfiguration
leaderElection: {enabled: false}
health: {bindAddress: %q}
metrics: {bindAddress: %q, secure: false}
agent: {image: "registry.example.com/agent:1"}
reports: {bindAddress: %q, url: "https://%s", certificateDir: %q}
`, addresses[0], addresses[1], addresses[2], addresses[2], certificates)
	return o, errors.Join(
		clientcmd.WriteToFile(*kubeconfig, o.kubeconfig),
		os.Mkdir(certificates, 0o700),
		os.WriteFile(filepath.Join(certificates, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(certificates, "tls.key"), key, 0o600),
		os.WriteFile(filepath.Join(certificates, "ca.crt"), certificate, 0o600),
		os.WriteFile(o.configuration, []byte(configuration), 0o600),
	)
}

// start the binary, and wait until it sees what exists.
func (o *operator) start(ctx context.Context) error {
	log, err := os.OpenFile(o.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	o.cmd = exec.Command(o.binary, "--config", o.configuration, "--kubeconfig", o.kubeconfig)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := o.cmd.Start(); err != nil {
		return fmt.Errorf("starting the operator: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 3*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+o.healthAt+"/readyz", nil)
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
		o.log(os.Stderr)
		return fmt.Errorf("waiting until the operator is ready: %w", err)
	}
	return nil
}

// kill it as a node's death does: it has no say.
func (o *operator) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

func (o *operator) log(to io.Writer) {
	text, err := os.ReadFile(o.logFile)
	fmt.Fprintf(to, "the operator's log (%v):\n%s\n", err, text)
}
