package session

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// link that logs a browser in once. It exists only in the memory of the process that wrote it.
type link struct {
	verified identity.Verified

	mu     sync.Mutex
	secret [sha256.Size]byte // its SHA-256
	until  time.Time         // zero: none, or used
}

// OfferLink creates the one-time link below a URL of this server, and writes it to the configured file, or
// else to out. If the configuration has no link it does nothing.
func (s *Sessions) OfferLink(base string, out io.Writer) error {
	if s.link == nil {
		return nil
	}
	secret := encodeSecret(newSecret())
	s.link.mu.Lock()
	s.link.secret, s.link.until = sha256.Sum256([]byte(secret)), s.clock.Now().Add(linkLasts)
	s.link.mu.Unlock()
	at := base + LoginPath + "?" + url.Values{fieldOnce: {secret}}.Encode()
	if file := s.config.OneTimeLink.File; file != "" {
		if err := writePrivate(file, at+"\n"); err != nil {
			return fmt.Errorf("writing the one-time link into oneTimeLink.file: %w", err)
		}
		return nil
	}
	_, err := fmt.Fprintf(out, "To log in as %s, open this link in a browser of this machine. It works "+
		"once, within ten minutes:\n%s\n",
		s.link.verified.Name, at)
	return err
}

// writePrivate replaces a file by one that only its owner can read. It does not follow a link at this path.
func writePrivate(path, text string) error {
	made, err := os.CreateTemp(filepath.Dir(path), ".link-") // with mode 0600
	if err != nil {
		return err
	}
	_, err = made.WriteString(text)
	if err = errors.Join(err, made.Close()); err == nil {
		err = os.Rename(made.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(made.Name()))
	}
	return nil
}
func (s *Sessions) loginByLink(w http.ResponseWriter, r *http.Request, secret string) {
	s.finish(w, r, wayLink, func() error {
		over := identity.Rejected("the link has expired or was used",
			"restart the server: it writes a new one")
		if s.link == nil {
			return over
		}
		// The link must not be used twice.
		s.link.mu.Lock()
		defer s.link.mu.Unlock()
		given := sha256.Sum256([]byte(secret))
		if !s.clock.Now().Before(s.link.until) || subtle.ConstantTimeCompare(given[:], s.link.secret[:]) != 1 {
			return over
		}
		err := s.accept(w, r, s.link.verified, time.Time{}, home)
		if err == nil {
			s.link.until = time.Time{}
		}
		return err
	}())
}
