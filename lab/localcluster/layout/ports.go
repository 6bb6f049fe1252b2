package layout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// Ports are below the range that Linux gives to outgoing connections (32768 and up). A port that is free when
// chosen then stays free until its server listens, however many clients connect in the meantime.
const (
	lowestPort  = 20000
	highestPort = 32767
)

// portsPerRange is the size of a range of ports. Only one cluster at a time chooses from a range: otherwise
// another cluster that comes up could take a port between its choice and its use.
const portsPerRange = 64

// LocalAddress is a port on the loopback interface.
func LocalAddress(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// LocalURL is a URL of a port on the loopback interface.
func LocalURL(port int, path string) string { return "https://" + LocalAddress(port) + path }

// PortFree reports whether no program listens on the loopback port.
func PortFree(port int) bool {
	listener, err := net.Listen("tcp", LocalAddress(port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// FreeAddress returns a free loopback address. If another program takes it before the process listens, the
// process ends and logs that.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("choosing a port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// ChoosePorts gives each name a free port of its own. No other cluster whose ports are reserved in the same
// folder is given one of them until release.
func ChoosePorts(folder string, names []string) (ports map[string]int, release func(), err error) {
	first, release, err := reserveRange(folder)
	if err != nil {
		return nil, nil, err
	}
	ports, err = choosePorts(names, func() int { return randomPort(first) }, PortFree)
	if err != nil {
		release()
		return nil, nil, err
	}
	return ports, release, nil
}

// choosePorts gives each name a port that pick proposes and free accepts.
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

// reserveRange reserves a range of ports until release, by a lock file in the folder.
func reserveRange(folder string) (first int, release func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, nil, fmt.Errorf("creating the folder of reserved ports: %w", err)
	}
	for _, n := range rand.Perm((highestPort - lowestPort + 1) / portsPerRange) {
		first := lowestPort + n*portsPerRange
		lock, err := filelock.Try(filepath.Join(folder, fmt.Sprintf("%d.lock", first)))
		if errors.Is(err, filelock.ErrLocked) {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		return first, func() { lock.Close() }, nil
	}
	return 0, nil, fmt.Errorf("every range of %d ports between %d and %d is reserved by a cluster that comes up",
		portsPerRange, lowestPort, highestPort)
}

// randomPort of the range that begins with first.
func randomPort(first int) int { return first + rand.IntN(portsPerRange) }
