//go:build cluster

package history

import "testing"

func TestShortFormOnPostgreSQL(t *testing.T) { answers(t, "postgres") }
