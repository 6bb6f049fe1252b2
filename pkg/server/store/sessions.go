package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrNoSession: there is no such session, or it is over.
var ErrNoSession = errors.New("no such session")

// SessionID is the SHA-256 of what a browser has: whoever reads the database cannot act as anybody.
type SessionID [sha256.Size]byte

func (id SessionID) text() string { return hex.EncodeToString(id[:]) }

// Session of a browser that has logged in. Times are in whole seconds.
type Session struct {
	ID SessionID
	// Owner is whose sessions are bounded together.
	Owner string
	// Identity of the owner, as JSON of whoever keeps the session.
	Identity json.RawMessage
	// Made is when the browser logged in, and Used when it was last seen, as far as UseSession was told.
	Made, Used time.Time
	// Expires is when the session is over.
	Expires time.Time
}

// prunedAtATime are the sessions that one transaction deletes.
const prunedAtATime = 1000

// MakeSession keeps a new session, which was used when it was made. Of its owner at most as many stay as keep
// says: of the others those go that were unused for longest.
func (s *Store) MakeSession(ctx context.Context, n Session, keep int) error {
	return s.write(ctx, "keeping a session", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE owner = $1 AND expires <= $2`,
			n.Owner, n.Made.Unix()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO sessions (id, owner, identity, made, used, expires)
			VALUES ($1, $2, $3, $4, $4, $5)`,
			n.ID.text(), n.Owner, string(n.Identity), n.Made.Unix(), n.Expires.Unix()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM sessions WHERE id IN (
			SELECT id FROM sessions WHERE owner = $1 AND id <> $2 ORDER BY used DESC, made DESC, id
			LIMIT %d OFFSET %d)`, prunedAtATime, max(keep, 1)-1), n.Owner, n.ID.text())
		return err
	})
}

// Session returns a session that is not over by now. Error: ErrNoSession.
func (s *Store) Session(ctx context.Context, id SessionID, now time.Time) (Session, error) {
	found := Session{ID: id}
	var identity string
	var made, used, expires int64
	switch err := s.reads.QueryRowContext(ctx, `SELECT owner, identity, made, used, expires FROM sessions
		WHERE id = $1 AND expires > $2`, id.text(), now.Unix()).
		Scan(&found.Owner, &identity, &made, &used, &expires); {
	case errors.Is(err, sql.ErrNoRows):
		return Session{}, ErrNoSession
	case err != nil:
		return Session{}, fmt.Errorf("reading a session: %w", err)
	}
	found.Identity = json.RawMessage(identity)
	found.Made, found.Used = time.Unix(made, 0).UTC(), time.Unix(used, 0).UTC()
	found.Expires = time.Unix(expires, 0).UTC()
	return found, nil
}

// UseSession says that a session was used at a time. It never goes back, and one that is gone stays so.
func (s *Store) UseSession(ctx context.Context, id SessionID, used time.Time) error {
	return s.write(ctx, "writing when a session was used", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE sessions SET used = $2 WHERE id = $1 AND used < $2`,
			id.text(), used.Unix())
		return err
	})
}

// EndSession deletes a session, where it is still there.
func (s *Store) EndSession(ctx context.Context, id SessionID) error {
	return s.write(ctx, "ending a session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE id = $1`, id.text())
		return err
	})
}

// PruneSessions deletes the sessions that are over by now, and returns their number.
func (s *Store) PruneSessions(ctx context.Context, now time.Time) (int, error) {
	for removed := 0; ; {
		var n int64
		err := s.write(ctx, "pruning sessions", func(tx *sql.Tx) error {
			result, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM sessions WHERE id IN (
				SELECT id FROM sessions WHERE expires <= $1 LIMIT %d)`, prunedAtATime), now.Unix())
			if err != nil {
				return err
			}
			n, err = result.RowsAffected()
			return err
		})
		if removed += int(n); err != nil || n < prunedAtATime {
			return removed, err
		}
	}
}

// CountSessions returns how many sessions are not over by now.
func (s *Store) CountSessions(ctx context.Context, now time.Time) (int, error) {
	var n int
	err := s.reads.QueryRowContext(ctx, `SELECT COUNT(*) FROM sessions WHERE expires > $1`, now.Unix()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting sessions: %w", err)
	}
	return n, nil
}
