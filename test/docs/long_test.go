//go:build cluster && long

package docs

import "testing"

func TestLongPages(t *testing.T) { playAll(t, onVolcano, true) }

func TestPagesOnKueue(t *testing.T) { playAll(t, onKueue, true) }

func TestPagesOfTheDryRun(t *testing.T) { playAll(t, onDryRun, true) }
