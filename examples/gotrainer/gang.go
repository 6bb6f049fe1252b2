package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// patience with ranks that have not come yet.
const patience = 10 * time.Minute

// gang is the connections between rank 0 and every other rank. All ranks call sum equally often.
type gang struct {
	rank int
	// peers of rank 0 by their rank, the first of them nil; any other rank has rank 0 alone.
	peers []net.Conn
}

// hello is what a rank says first: a rank of another attempt is nobody's peer.
type hello struct{ Attempt, World, Rank int32 }

// meet waits until all ranks are there.
func (t *trainer) meet(ctx context.Context) (*gang, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if t.world == 1 {
		return &gang{peers: make([]net.Conn, 1)}, nil
	}
	if t.rank != 0 {
		return t.join(ctx)
	}
	_, port, err := net.SplitHostPort(t.leader)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+port)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	g := &gang{peers: make([]net.Conn, t.world)}
	for missing := t.world - 1; missing > 0; {
		conn, err := listener.Accept()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("waiting for %d ranks: %w", missing, err), ctx.Err(), g.close())
		}
		var h hello
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second)) // who says nothing is no rank
		err = binary.Read(conn, binary.LittleEndian, &h)
		if err != nil || h.Attempt != int32(t.attempt) || h.World != int32(t.world) || h.Rank <= 0 || int(h.Rank) >= t.world || g.peers[h.Rank] != nil {
			conn.Close()
			continue
		}
		_ = conn.SetReadDeadline(time.Time{})
		g.peers[h.Rank] = conn
		missing--
	}
	return g, nil
}

// join rank 0, whose name is known a moment after its pod.
func (t *trainer) join(ctx context.Context) (*gang, error) {
	for {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", t.leader)
		if err == nil {
			err = binary.Write(conn, binary.LittleEndian, hello{int32(t.attempt), int32(t.world), int32(t.rank)})
			return &gang{rank: t.rank, peers: []net.Conn{conn}}, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("looking for rank 0: %w", err), ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// sum makes v the sum of all ranks' v, in every rank. It is added up in the order of the ranks: another order would round otherwise.
func (g *gang) sum(v []float64) error {
	if g.rank != 0 {
		if err := binary.Write(g.peers[0], binary.LittleEndian, v); err != nil {
			return fmt.Errorf("giving rank 0 the gradients: %w", err)
		}
		if err := binary.Read(g.peers[0], binary.LittleEndian, v); err != nil {
			return fmt.Errorf("taking the gradients' sum from rank 0: %w", err)
		}
		return nil
	}
	theirs := make([]float64, len(v))
	for rank, peer := range g.peers[1:] {
		if err := binary.Read(peer, binary.LittleEndian, theirs); err != nil {
			return fmt.Errorf("taking the gradients of rank %d: %w", rank+1, err)
		}
		for i := range v {
			v[i] += theirs[i]
		}
	}
	for rank, peer := range g.peers[1:] {
		if err := binary.Write(peer, binary.LittleEndian, v); err != nil {
			return fmt.Errorf("giving rank %d the gradients' sum: %w", rank+1, err)
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
