// Package oidcprovider runs a certified OpenID provider, oidc-provider for Node.js, as an issuer of tokens
// for tests: on loopback, with TLS, with a discovery document and keys that rotate. Its users can log in with
// a browser, too.
//
// It needs node and npm, which Debian has as packages of these names. The provider and what it depends on are
// installed from package-lock.json, by their hashes, into the user's cache, once for each version. Neither is
// part of the product.
package oidcprovider
