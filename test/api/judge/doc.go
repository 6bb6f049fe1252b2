// Package judge answers one question without an API server: would it take this object, and what would it say?
// It compiles the CRD's schema and rules and the admission policies with the API server's own packages
// (k8s.io/apiextensions-apiserver and k8s.io/apiserver), so that hundreds of objects are judged in seconds.
//
// It knows neither what an API server checks of every object's metadata beyond the names, nor RBAC, nor other
// admission plugins. Tests with the tag cluster hold the same cases against a real one.
package judge
