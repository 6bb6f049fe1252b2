//go:build cluster

package upgrade

import (
	"io"
	"net"
	"slices"
	"sync"
)

// service is the one address of all replicas' report servers, as a Service is on a cluster: connections go to
// each in turn, whether it leads or not.
type service struct {
	listener net.Listener
	mu       sync.Mutex
	replicas []string
	next     int
}

func newService() (*service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{listener: listener}
	go s.serve()
	return s, nil
}

func (s *service) address() string { return s.listener.Addr().String() }

func (s *service) close() { _ = s.listener.Close() }

func (s *service) add(replica string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, replica)
}

func (s *service) remove(replica string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = slices.DeleteFunc(s.replicas, func(r string) bool { return r == replica })
}

func (s *service) serve() {
	for {
		client, err := s.listener.Accept()
		if err != nil {
			return // it is closed
		}
		go s.forward(client)
	}
}

// choose a replica; "" if there is none.
func (s *service) choose() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.replicas) == 0 {
		return ""
	}
	s.next++
	return s.replicas[s.next%len(s.replicas)]
}

func (s *service) forward(client net.Conn) {
	defer client.Close()
	replica := s.choose()
	if replica == "" {
		return
	}
	server, err := net.Dial("tcp", replica)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}
