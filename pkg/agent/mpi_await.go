package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// answerTimeout bounds one try, and answerRetry is the pause after it.
	answerTimeout = 5 * time.Second
	answerRetry   = time.Second
	// answersAtOnce bounds how many workers are tried at a time.
	answersAtOnce = 32
)

// workerHosts returns the host names of n workers. Their names differ in the index at the end of the first
// label.
func workerHosts(first string, n int) ([]string, error) {
	if n == 0 && first == "" {
		return nil, nil
	}
	label, domain, _ := strings.Cut(first, ".")
	stem, zero := strings.CutSuffix(label, "-0")
	if !zero || stem == "" || n < 1 || n > 10000 {
		return nil, fmt.Errorf("%d workers, the first is %q: give a number from 1 to 10000, "+
			"and a name that ends in -0", n, first)
	}
	if domain != "" {
		domain = "." + domain
	}
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("%s-%d%s", stem, i, domain)
	}
	return hosts, nil
}

// awaitWorkers waits until an SSH server answers on every host. It fails after the timeout, naming a host
// that has not answered and why.
func awaitWorkers(hosts []string, port int, timeout time.Duration, stderr io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	errs := make([]error, len(hosts))
	var wg sync.WaitGroup
	turns := make(chan struct{}, answersAtOnce)
	for i, host := range hosts {
		wg.Go(func() {
			address := net.JoinHostPort(host, strconv.Itoa(port))
			for {
				turns <- struct{}{}
				err := askForBanner(ctx, address)
				<-turns
				if err == nil {
					return
				}
				select {
				case <-ctx.Done():
					errs[i] = fmt.Errorf("worker %s did not answer within %s: %w", host, timeout, err)
					return
				case <-time.After(answerRetry):
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil { // one is enough: the cause is mostly the same
			return fmt.Errorf("%w; does its image have /usr/sbin/sshd, and does its command listen on port %d?",
				err, port)
		}
	}
	if len(hosts) > 0 {
		fmt.Fprintf(stderr, "agent: %d workers answer\n", len(hosts))
	}
	return nil
}

// askForBanner succeeds if an SSH server answers at the address: it speaks first (RFC 4253, 4.2).
func askForBanner(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	// The line has at most 255 characters; other lines may come before it.
	in := bufio.NewScanner(io.LimitReader(conn, 8<<10))
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "SSH-2.0-") {
			_, err := io.WriteString(conn, "SSH-2.0-trainingjob_agent\r\n") // else sshd logs an error
			return err
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	return errors.New("what listens there is no SSH server")
}
