package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
)

// cursor is the end of a page. Callers can keep it for any time: the next page begins after the job that it
// names, even if that was deleted.
type cursor struct {
	Created int64  `json:"c"`
	UID     string `json:"u"`
	// Query is the digest of the query.
	Query string `json:"q"`
}

func (c cursor) encode() string { return base64.RawURLEncoding.EncodeToString([]byte(mustJSON(c))) }

// decodeCursor returns ErrBadCursor if encode did not return the text for this query.
func decodeCursor(text, query string) (cursor, error) {
	var c cursor
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &c) != nil || c.Query != query || c.UID == "" {
		return cursor{}, ErrBadCursor
	}
	return c, nil
}

// digest of a query, without its page.
func (q JobsQuery) digest() string {
	q.Cursor, q.Limit = "", 0
	sum := sha256.Sum256([]byte(mustJSON(q)))
	return hex.EncodeToString(sum[:6])
}
