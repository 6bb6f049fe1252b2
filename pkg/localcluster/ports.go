package localcluster

import (
	"fmt"
	"math/rand/v2"
	"net"
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

func randomPort() int { return lowestPort + rand.IntN(highestPort-lowestPort+1) }

// portFree reports whether nobody listens on the loopback port.
func portFree(port int) bool {
	listener, err := net.Listen("tcp", localAddress(port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}
