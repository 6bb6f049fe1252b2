package session

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
)

// pending is a login in progress. A cookie of its browser holds it, so no other browser can complete it. It
// contains no secrets from that user.
//
// Each login has its own cookie: a browser that reopens several tabs begins a login in each, and can complete
// them in any order.
type pending struct {
	Issuer string `json:"issuer"`
	// The issuer returns State, and Nonce in its ID token. Only the code's request has Verifier (PKCE).
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	// Next is the path to which the login leads.
	Next string `json:"next"`
	// Until is when the login expires, in seconds since 1970.
	Until int64 `json:"until"`
}

func (p pending) encode() (string, error) {
	data, err := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(data), err
}

func decodePending(text string) (p pending, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &p) != nil {
		return pending{}, false
	}
	return p, p.State != "" && p.Nonce != "" && p.Verifier != ""
}

// loginCookie returns the cookie name of a login; empty if the state is not one of ours.
func loginCookie(state string) string {
	if _, ok := decodeSecret(state); !ok {
		return ""
	}
	return cookieLogin + "-" + state[:8]
}

// remember stores a login in its browser, which keeps the most recent ones.
func (s *Sessions) remember(w http.ResponseWriter, r *http.Request, p pending) error {
	value, err := p.encode()
	if err != nil {
		return err
	}
	type begun struct {
		base  string
		until int64 // 0 if it cannot be read
	}
	var all []begun
	for base, value := range s.cookies.startingWith(r, cookieLogin+"-") {
		earlier, _ := decodePending(value)
		all = append(all, begun{base, earlier.Until})
	}
	slices.SortFunc(all, func(a, b begun) int {
		return cmp.Or(cmp.Compare(b.until, a.until), cmp.Compare(a.base, b.base))
	})
	for _, former := range all[min(len(all), loginsOfOne-1):] {
		s.cookies.remove(w, former.base)
	}
	s.cookies.set(w, loginCookie(p.State), value, loginLasts)
	return nil
}
