package store

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var loginTime = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func sessionOf(owner, secret string, made time.Time) Session {
	return Session{
		ID: sha256.Sum256([]byte(secret)), Owner: owner, Identity: json.RawMessage(`{"name":"` + owner + `"}`),
		Made: made, Used: made, Expires: made.Add(time.Hour),
	}
}

// testSessions: what one replica has made, every other finds, until it is over or ended.
func testSessions(t *testing.T, b backend) {
	dsn := b.database(t)
	s, other := open(t, dsn), open(t, dsn)
	one := sessionOf("jane", "a", loginTime)
	must(t, s.MakeSession(t.Context(), one, 3))
	has := func(s *Store, id SessionID, now time.Time, want error) {
		t.Helper()
		if _, err := s.Session(t.Context(), id, now); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	got, err := other.Session(t.Context(), one.ID, loginTime)
	if diff := cmp.Diff(one, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	has(s, SessionID{1}, loginTime, ErrNoSession)
	has(s, one.ID, one.Expires.Add(-time.Second), nil)
	has(s, one.ID, one.Expires, ErrNoSession)

	must(t, other.UseSession(t.Context(), one.ID, loginTime.Add(10*time.Minute)))
	must(t, other.UseSession(t.Context(), one.ID, loginTime.Add(5*time.Minute))) // by a clock that is slow
	got, err = s.Session(t.Context(), one.ID, loginTime)
	if must(t, err); !got.Used.Equal(loginTime.Add(10 * time.Minute)) {
		t.Errorf("used at %v", got.Used)
	}
	must(t, other.EndSession(t.Context(), one.ID))
	has(s, one.ID, loginTime, ErrNoSession)
	must(t, s.UseSession(t.Context(), one.ID, loginTime.Add(20*time.Minute))) // a request that came late
	has(s, one.ID, loginTime, ErrNoSession)
	must(t, s.EndSession(t.Context(), one.ID))
}

// testSessionsOfOne: of a user's sessions the most recently used stay; other users' sessions stay too.
func testSessionsOfOne(t *testing.T, b backend) {
	s := open(t, b.database(t))
	minute := func(n int) time.Time { return loginTime.Add(time.Duration(n) * time.Minute) }
	live := func(want string) {
		t.Helper()
		got := ""
		for _, secret := range []string{"a", "b", "c", "d", "joe's"} {
			if _, err := s.Session(t.Context(), sha256.Sum256([]byte(secret)), minute(9)); err == nil {
				got += secret
			}
		}
		if got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
	}
	must(t, s.MakeSession(t.Context(), sessionOf("joe", "joe's", loginTime), 2))
	must(t, s.MakeSession(t.Context(), sessionOf("jane", "a", minute(1)), 2))
	must(t, s.MakeSession(t.Context(), sessionOf("jane", "b", minute(2)), 2))
	live("abjoe's")
	must(t, s.UseSession(t.Context(), sha256.Sum256([]byte("a")), minute(3)))
	must(t, s.MakeSession(t.Context(), sessionOf("jane", "c", minute(4)), 2))
	live("acjoe's")
	// A clock that is behind makes it no less new.
	must(t, s.MakeSession(t.Context(), sessionOf("jane", "d", loginTime), 1))
	live("djoe's")
	if n, err := s.CountSessions(t.Context(), minute(9)); err != nil || n != 2 {
		t.Errorf("%d sessions, %v", n, err)
	}

	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			if err := s.MakeSession(t.Context(), sessionOf("jane", fmt.Sprint(n), minute(5)), 3); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, err := s.CountSessions(t.Context(), minute(9)); err != nil || n != 4 {
		t.Errorf("%d sessions after many logins at a time, %v", n, err)
	}
}

// testPruneSessions: those that are over go, and take no place of those that are not.
func testPruneSessions(t *testing.T, b backend) {
	s := open(t, b.database(t))
	long := sessionOf("jane", "long", loginTime)
	long.Expires = loginTime.AddDate(0, 0, 1)
	must(t, s.MakeSession(t.Context(), long, 2))
	must(t, s.MakeSession(t.Context(), sessionOf("jane", "short", loginTime.Add(time.Second)), 2))
	must(t, s.MakeSession(t.Context(), sessionOf("joe", "joe's", loginTime), 2))
	later := loginTime.Add(2 * time.Hour)
	must(t, s.MakeSession(t.Context(), sessionOf("jane", "new", later), 2))
	for _, secret := range []string{"long", "new"} {
		if _, err := s.Session(t.Context(), sha256.Sum256([]byte(secret)), later); err != nil {
			t.Errorf("%s: %v", secret, err)
		}
	}
	n, err := s.PruneSessions(t.Context(), later)
	if must(t, err); n != 1 { // joe's; that of jane is gone
		t.Errorf("%d were pruned", n)
	}
	if n, err := s.CountSessions(t.Context(), loginTime); err != nil || n != 2 {
		t.Errorf("%d are left, %v", n, err)
	}
}
