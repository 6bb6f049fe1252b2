package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
)

// cursor is where a page ended. It is opaque to callers, who may keep it as long as they like: a page begins
// behind the job that it names, whether or not that still exists.
type cursor struct {
	Created int64  `json:"c"`
	UID     string `json:"u"`
	// Query is a digest of what was asked for.
	Query string `json:"q"`
}

func (c cursor) encode() string { return base64.RawURLEncoding.EncodeToString([]byte(mustJSON(c))) }

// decodeCursor returns ErrBadCursor for what encode did not return for the same query.
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
