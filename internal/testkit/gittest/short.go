package gittest

import (
	"strings"
	"sync"
	"testing"
)

// sampled has, by test, the case that -short has taken.
var sampled sync.Map

// SampleCases skips a case of a test with -short if it is not the first one. It is called before anything is made.
func SampleCases(t testing.TB) {
	t.Helper()
	test, _, isCase := strings.Cut(t.Name(), "/")
	if !testing.Short() || !isCase {
		return
	}
	if first, taken := sampled.LoadOrStore(test, t.Name()); taken && first != t.Name() {
		t.Skip("-short takes one case of each test with Git: it took ", first)
	}
}
