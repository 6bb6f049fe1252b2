package localcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Ports are taken from below the range that Linux gives to outgoing connections
// (32768 and up): a port that is free when chosen then stays free until its
// server listens, however many clients connect meanwhile.
const (
	lowestPort  = 20000
	highestPort = 32767
)

// localAddress is a port on the loopback interface.
func localAddress(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func localURL(port int, path string) string { return "https://" + localAddress(port) + path }

// choosePorts gives each name a port of its own that is free. pick proposes a
// port, free tells whether it can be listened on.
func choosePorts(names []string, pick func() int, free func(int) bool) (map[string]int, error) {
	const attempts = 1000
	ports := make(map[string]int, len(names))
	taken := map[int]bool{}
	for _, name := range names {
		for range attempts {
			port := pick()
			if taken[port] || !free(port) {
				continue
			}
			taken[port], ports[name] = true, port
			break
		}
		if ports[name] == 0 {
			return nil, fmt.Errorf("no free port for %s between %d and %d", name, lowestPort, highestPort)
		}
	}
	return ports, nil
}

// portsOfARow are chosen by one cluster at a time: a port that is free when chosen could be taken by another cluster that comes up
// meanwhile, before its own server listens.
const portsOfARow = 64

// reserveRow finds a row of ports that no other cluster is choosing from. It is held until release, by a lock file in dir.
func reserveRow(dir string) (first int, release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, nil, fmt.Errorf("creating the folder of reserved ports: %w", err)
	}
	for _, row := range rand.Perm((highestPort - lowestPort + 1) / portsOfARow) {
		first := lowestPort + row*portsOfARow
		release, err := tryLockFile(filepath.Join(dir, fmt.Sprintf("%d.lock", first)))
		if errors.Is(err, errLocked) {
			continue
		}
		return first, release, err
	}
	return 0, nil, fmt.Errorf("every row of %d ports between %d and %d is reserved by a cluster that comes up", portsOfARow, lowestPort, highestPort)
}

// randomPort of the row that begins with first.
func randomPort(first int) int { return first + rand.IntN(portsOfARow) }

// portFree reports whether nobody listens on the loopback port.
func portFree(port int) bool {
	listener, err := net.Listen("tcp", localAddress(port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}
