// Package memory holds what one reconcile leaves to the next: the objects that jobs own, the state of each
// job that no object shows, and the errors and rejections of the API server. It writes nothing.
package memory
