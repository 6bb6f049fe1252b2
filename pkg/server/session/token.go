package session

import (
	"net/http"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// loginByToken makes a session from a token that the form of the login page brings. Package identity limits
// how many bad ones an address may send.
func (s *Sessions) loginByToken(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.PostFormValue(fieldNext))
	token := strings.TrimSpace(r.PostFormValue(fieldToken)) // it was copied from a terminal
	s.finish(w, r, wayToken, func() error {
		if s.identity.ReviewAudience() == "" {
			return identity.Rejected("tokens of the cluster are not accepted", "log in at an issuer")
		}
		verified, err := s.identity.VerifyToken(r.Context(), token, identity.Address(r))
		if err != nil {
			return err
		}
		if verified.Ends.IsZero() { // a session that outlives its token would be worth more than that
			return identity.Rejected("the token does not say when it ends",
				"use one that does, such as that of kubectl create token")
		}
		return s.accept(w, r, verified, verified.Ends, next)
	}())
}
