package identity

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"k8s.io/apimachinery/pkg/util/sets"
)

// claims of a token that was verified.
type claims map[string]json.RawMessage

// identity returns the user of a verified token; problem is what is wrong with its claims.
func (i *issuer) identity(token *oidc.IDToken) (id Identity, problem string) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return id, "the token's claims cannot be read"
	}
	for _, name := range sets.List(sets.KeySet(i.RequiredClaims)) {
		if values, ok := c.texts(name); !ok || !slices.Contains(values, i.RequiredClaims[name]) {
			return id, fmt.Sprintf("the token's claim %s is not %q", name, i.RequiredClaims[name])
		}
	}
	name, ok := c.text(i.usernameClaim())
	if !ok || name == "" {
		return id, fmt.Sprintf("the token has no string claim %s for the user's name",
			i.usernameClaim())
	}
	// The issuer does not guarantee an unverified address.
	verified, there := c["email_verified"]
	if i.usernameClaim() == "email" && there && string(verified) != "true" {
		return id, "the token's claim email is not verified"
	}
	groups, ok := c.texts(i.groupsClaim())
	if !ok {
		return id, fmt.Sprintf("the token's claim %s is neither a string nor a list of strings",
			i.groupsClaim())
	}
	id = Identity{Name: i.Prefix + name, Source: SourceOIDC}
	for _, group := range inOrder(groups) {
		if group == "" {
			return id, fmt.Sprintf("the token's claim %s has a group without a name", i.groupsClaim())
		}
		id.Groups = append(id.Groups, i.Prefix+group)
	}
	if problem := givenProblem(id.Name); problem != "" {
		return id, "the token's user has a name that " + problem
	}
	if problem := groupsProblem(id.Groups, givenProblem); problem != "" {
		return id, "the token's user " + problem
	}
	return id, ""
}

// text returns a string claim.
func (c claims) text(name string) (string, bool) {
	var text *string
	if json.Unmarshal(c[name], &text) != nil || text == nil {
		return "", false
	}
	return *text, true
}

// texts returns a claim that is a string or a list of strings; empty if absent.
func (c claims) texts(name string) ([]string, bool) {
	raw, there := c[name]
	if !there || string(raw) == "null" {
		return nil, true
	}
	if text, ok := c.text(name); ok {
		return []string{text}, true
	}
	var list []*string
	if json.Unmarshal(raw, &list) != nil || slices.Contains(list, nil) {
		return nil, false
	}
	texts := make([]string, 0, len(list))
	for _, text := range list {
		texts = append(texts, *text)
	}
	return texts, true
}
