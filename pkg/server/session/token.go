package session

import (
	"net/http"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// loginByToken creates a session from a token in the form of the login page. Package identity limits the bad
// tokens of an address.
func (s *Sessions) loginByToken(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.PostFormValue(fieldNext))
	token := strings.TrimSpace(r.PostFormValue(fieldToken)) // as copied from a terminal
	s.finish(w, r, wayToken, func() error {
		if s.identity.ReviewAudience() == "" {
			return identity.Rejected("tokens of the cluster are not accepted", "log in at an issuer")
		}
		verified, err := s.identity.VerifyToken(r.Context(), token, identity.Address(r))
		if err != nil {
			return err
		}
		if verified.Ends.IsZero() { // the session must not outlive the token
			return identity.Rejected("the token has no expiry",
				"use one that does, such as that of kubectl create token")
		}
		return s.accept(w, r, verified, verified.Ends, next)
	}())
}
