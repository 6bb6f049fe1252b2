package tfjob_test

import (
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
)

// What the server hands to a Handler.
var (
	_ tfjob.Access  = (*access.Clusters)(nil)
	_ tfjob.History = (*store.Store)(nil)
)
