package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// rendezvousTimeout is how long a rank waits for the others.
const rendezvousTimeout = 10 * time.Minute

// member is one rank of a gang. leader is the address of rank 0.
type member struct {
	rank, worldSize, attempt int
	leader                   string
	// listener of rank 0. Nil: one is opened on the port of leader.
	listener net.Listener
}

// gang is the connections between rank 0 and every other rank. All ranks must call sum equally often.
type gang struct {
	rank int
	// peers of rank 0, by rank, the first of them nil. Any other rank has rank 0 as its only peer.
	peers []net.Conn
}

// handshake is the first message of a rank. It keeps a rank of another attempt out of the gang.
type handshake struct{ Attempt, WorldSize, Rank int32 }

// connect connects a rank to its gang, and waits until the gang is complete.
func connect(ctx context.Context, m member) (*gang, error) {
	ctx, cancel := context.WithTimeout(ctx, rendezvousTimeout)
	defer cancel()
	switch {
	case m.worldSize == 1:
		return &gang{peers: make([]net.Conn, 1)}, nil
	case m.rank == 0:
		return accept(ctx, m)
	}
	return dial(ctx, m)
}

// accept is rank 0's part: it accepts a connection from every other rank.
func accept(ctx context.Context, m member) (*gang, error) {
	listener := m.listener
	if listener == nil {
		_, port, err := net.SplitHostPort(m.leader)
		if err != nil {
			return nil, err
		}
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+port); err != nil {
			return nil, err
		}
	}
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	g := &gang{peers: make([]net.Conn, m.worldSize)}
	for missing := m.worldSize - 1; missing > 0; {
		conn, err := listener.Accept()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("waiting for %d ranks: %w", missing, err), ctx.Err(), g.close())
		}
		var h handshake
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second)) // a silent connection is not a rank
		err = binary.Read(conn, binary.LittleEndian, &h)
		if err != nil || h.Attempt != int32(m.attempt) || h.WorldSize != int32(m.worldSize) ||
			h.Rank <= 0 || int(h.Rank) >= m.worldSize || g.peers[h.Rank] != nil {
			conn.Close()
			continue
		}
		_ = conn.SetReadDeadline(time.Time{})
		g.peers[h.Rank] = conn
		missing--
	}
	return g, nil
}

// dial is any other rank's part: it connects to rank 0. It retries, because the host name of rank 0 resolves
// only some time after its pod exists.
func dial(ctx context.Context, m member) (*gang, error) {
	for {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", m.leader)
		if err == nil {
			h := handshake{int32(m.attempt), int32(m.worldSize), int32(m.rank)}
			return &gang{rank: m.rank, peers: []net.Conn{conn}}, binary.Write(conn, binary.LittleEndian, h)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("looking for rank 0: %w", err), ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// sum replaces v with the sum of all ranks' v, in every rank. Rank 0 adds in the order of the ranks, since
// another order would round differently.
func (g *gang) sum(v []float64) error {
	if g.rank != 0 {
		if err := binary.Write(g.peers[0], binary.LittleEndian, v); err != nil {
			return fmt.Errorf("sending the gradients to rank 0: %w", err)
		}
		if err := binary.Read(g.peers[0], binary.LittleEndian, v); err != nil {
			return fmt.Errorf("receiving the sum of the gradients from rank 0: %w", err)
		}
		return nil
	}
	theirs := make([]float64, len(v))
	for rank, peer := range g.peers[1:] {
		if err := binary.Read(peer, binary.LittleEndian, theirs); err != nil {
			return fmt.Errorf("receiving the gradients of rank %d: %w", rank+1, err)
		}
		for i := range v {
			v[i] += theirs[i]
		}
	}
	for rank, peer := range g.peers[1:] {
		if err := binary.Write(peer, binary.LittleEndian, v); err != nil {
			return fmt.Errorf("sending the sum of the gradients to rank %d: %w", rank+1, err)
		}
	}
	return nil
}

func (g *gang) close() error {
	var errs []error
	for _, peer := range g.peers {
		if peer != nil {
			errs = append(errs, peer.Close())
		}
	}
	return errors.Join(errs...)
}
