package panics

import (
	"strings"
	"testing"
)

func TestCatch(t *testing.T) {
	if p := Catch(func() {}); p != nil {
		t.Errorf("a step that returns has panic %v", p)
	}
	p := Catch(func() {
		var list []int
		_ = list[len(list)]
	})
	if p == nil || !strings.Contains(p.Error(), "index out of range") {
		t.Fatalf("the panic is %v", p)
	}
	if !strings.Contains(string(p.Stack), "TestCatch") {
		t.Errorf("the stack does not lead to the step:\n%s", p.Stack)
	}
}
