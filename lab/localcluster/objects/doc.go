// Package objects writes the objects that a local cluster has from the start: CustomResourceDefinitions and
// nodes. It also kills and revives fake nodes, which is done by their objects alone.
package objects
