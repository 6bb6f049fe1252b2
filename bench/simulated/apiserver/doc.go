// Package apiserver answers one question: what does an operator cost where the API server costs nothing?
//
// It serves the part of the Kubernetes API that the operator and the benchmark use, from memory: discovery,
// get, list, watch (with the initial events that client-go asks for since 1.35), create, update, patch and
// delete, of a fixed list of kinds. Objects have what a real server adds to them, managed fields included,
// and built-in kinds are sent as protobuf, so that a client decodes what it would decode from a real one.
//
// What it leaves out: persistence, schemas and their validation, admission but for what is in admit.go,
// authentication, garbage collection, and compression. A request that it does not know is answered with an
// error and remembered (Err): a measurement in which one occurs is void.
//
//	resources.go  the kinds; discovery.go tells clients of them
//	server.go     from a request to what is done; read.go, write.go and watch.go do it
//	change.go     what a write makes of an object; admit.go what a server adds; patch.go the kinds of patches
//	fields.go     who owns which fields
//	collection.go the objects of a kind and their history; stream.go follows it
//	codec.go      objects as bytes; selector.go which objects are meant
//	audit.go      the log of what was written
//	local.go      writes by the process of the server itself
//
// An object is kept as bytes, and with it what selectors read. A change is encoded once for each of the two
// formats, however many watch it.
package apiserver
