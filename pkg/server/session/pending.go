package session

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
)

// pending is a login that has begun. It is in a cookie of the browser in which that was, and no other browser
// can end it. Nothing in it is secret from that browser's user, who could have begun a login with anything.
//
// Each login has a cookie of its own: a browser that opens the tabs of yesterday begins one in each, and may
// end them in any order.
type pending struct {
	Issuer string `json:"issuer"`
	// State comes back from the issuer, and Nonce in its ID token. Verifier is sent with the code alone (PKCE).
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	// Next is the path to which the login leads.
	Next string `json:"next"`
	// Until when it must end, in seconds since 1970.
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

// loginCookie of a login with a state; empty where no login of ours has such a state.
func loginCookie(state string) string {
	if _, ok := decodeSecret(state); !ok {
		return ""
	}
	return cookieLogin + "-" + state[:8]
}

// remember a login in its browser. Of those that have begun there before, the last ones stay.
func (s *Sessions) remember(w http.ResponseWriter, r *http.Request, p pending) error {
	value, err := p.encode()
	if err != nil {
		return err
	}
	type begun struct {
		base  string
		until int64 // 0 where it cannot be read
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
