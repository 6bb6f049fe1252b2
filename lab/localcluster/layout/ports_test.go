package layout

import (
	"net"
	"testing"
)

func TestChoosePorts(t *testing.T) {
	next := lowestPort
	pick := func() int { next++; return lowestPort + (next-lowestPort)/2 } // each port is proposed twice
	taken := map[int]bool{20001: true, 20003: true}
	ports, err := choosePorts([]string{"a", "b", "c"}, pick, func(port int) bool { return !taken[port] })
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for name, port := range ports {
		if taken[port] || seen[port] {
			t.Errorf("%s has port %d, which is taken or another's: %v", name, port, ports)
		}
		seen[port] = true
	}
	if len(ports) != 3 {
		t.Errorf("got %v", ports)
	}
	if _, err := choosePorts([]string{"a"}, pick, func(int) bool { return false }); err == nil {
		t.Error("no port is free, and one was chosen")
	}
}

func TestPortFree(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if PortFree(port) {
		t.Error("a port that is listened on is free")
	}
	listener.Close()
	if !PortFree(port) {
		t.Error("a port that is closed is not free")
	}
}

func TestRangesOfPorts(t *testing.T) {
	dir := t.TempDir()
	ranges := (highestPort - lowestPort + 1) / portsPerRange
	seen := map[int]bool{}
	var releases []func() // a file that nothing refers to would be closed, and its lock released
	for range ranges {
		first, free, err := reserveRange(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if port := randomPort(first); port < lowestPort || port > highestPort || seen[port] {
				t.Fatalf("port %d is out of range or of another range", port)
			}
		}
		for i := range portsPerRange {
			seen[first+i] = true
		}
		releases = append(releases, free)
	}
	if _, _, err := reserveRange(dir); err == nil {
		t.Error("every row is reserved, and one was given out again")
	}
	for _, release := range releases {
		release()
	}
	if _, _, err := reserveRange(dir); err != nil {
		t.Errorf("the ranges were released: %v", err)
	}
}
