package shield

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// TestDecode: large documents wait for each other until the time of their request is over, and small ones do
// not wait for them.
func TestDecode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureOn(t, clock.RealClock{}, nil)
		leave := make(chan struct{})
		decode := func(nodes int) int {
			return send(f.around(func(w http.ResponseWriter, r *http.Request) {
				done, err := Decode(r.Context(), nodes)
				if err != nil {
					status, _, _, retryAfter := err.(*Error).Problem()
					if retryAfter == 0 {
						t.Error("it does not say when to try again")
					}
					w.WriteHeader(status)
					return
				}
				defer done()
				if nodes > decodedLarge {
					<-leave
				}
			}), get("/")).Code
		}
		first := make(chan int, 1)
		go func() { first <- decode(2 * decodedLarge) }()
		synctest.Wait()
		if got := decode(smallNodes); got != http.StatusOK {
			t.Errorf("a small document is answered with %d", got)
		}
		began := time.Now()
		if got := decode(smallNodes + 1); got != http.StatusServiceUnavailable {
			t.Errorf("a second large document is answered with %d", got)
		}
		if waited := time.Since(began); waited != 30*time.Second { // in the bubble
			t.Errorf("it waited %s", waited)
		}
		close(leave)
		<-first
		if got := decode(smallNodes + 1); got != http.StatusOK {
			t.Errorf("a large document after the others is answered with %d", got)
		}
	})
	if leave, err := Decode(t.Context(), decodedLarge); err != nil {
		t.Errorf("without a shield: %v", err)
	} else {
		leave()
	}
}
