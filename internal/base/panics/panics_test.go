package panics_test

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/panics"
)

var none []int

// failures are kinds of work that end badly, with the kind that is shown.
var failures = map[string]struct {
	do   func()
	kind string
}{
	"an index":          {func() { none[len(none)+3]++ }, "runtime error: index out of range [3] with length 0"},
	"a nil pointer":     {func() { var e *panics.Error; e.ID = "x" }, "runtime error: invalid memory address or nil pointer dereference"},
	"a text":            {func() { panic("token s3cr3t") }, "panic with a string"},
	"an error":          {func() { panic(errors.New("token s3cr3t")) }, "panic with a *errors.errorString"},
	"nil":               {func() { panic(nil) }, "panic called with nil argument"},
	"a wrong assertion": {func() { var v any = "token s3cr3t"; _ = v.(int) }, "interface conversion: interface {} is string, not int"},
}

// TestBarrier: a panic is an error with an id and a stack, the same each time, and shows
// nothing of what the program panicked with.
func TestBarrier(t *testing.T) {
	shown := regexp.MustCompile(`^internal error [0-9a-f]{12} \(`)
	ids := map[string]string{}
	for name, f := range failures {
		var first string
		for range 2 {
			var told []*panics.Error
			b := panics.Barrier{Report: func(work, of string, e *panics.Error) {
				if work != "render" || of != "dev" {
					t.Errorf("%s: reported as %s of %s", name, work, of)
				}
				told = append(told, e)
			}}
			err := b.Run("render", "dev", func() error { f.do(); return nil })
			var e *panics.Error
			if !errors.As(err, &e) || !panics.Is(err) || len(told) != 1 || told[0] != e {
				t.Fatalf("%s: %v, reported %d times", name, err, len(told))
			}
			if e.Kind != f.kind || !shown.MatchString(err.Error()) || !strings.Contains(err.Error(), e.ID) {
				t.Errorf("%s: it is shown as %q, of kind %q", name, err, e.Kind)
			}
			if text := err.Error() + e.Stack; strings.Contains(text, "s3cr3t") {
				t.Errorf("%s: it shows what it should not: %s", name, text)
			}
			top, _, _ := strings.Cut(e.Stack, "TestBarrier")
			if !strings.Contains(top, "panics_test.go") || !strings.Contains(e.Stack, "TestBarrier") {
				t.Errorf("%s: the stack does not begin where it happened:\n%s", name, e.Stack)
			}
			if first == "" {
				first = e.ID
			}
			if e.ID != first {
				t.Errorf("%s: the same panic has the ids %s and %s", name, first, e.ID)
			}
		}
		if other, taken := ids[first]; taken {
			t.Errorf("%s and %s have one id", name, other)
		}
		ids[first] = name
	}
}

// TestBarrierLetsThrough: what does not panic is as it was.
func TestBarrierLetsThrough(t *testing.T) {
	failed := errors.New("no")
	var before string
	b := panics.Barrier{
		Before: func(work, of string) { before = work + " " + of },
		Report: func(string, string, *panics.Error) { t.Error("something was reported") },
	}
	if err := b.Run("publish", "prod", func() error { return failed }); err != failed || panics.Is(err) {
		t.Errorf("the error is %v", err)
	}
	if err := (panics.Barrier{}).Run("", "", func() error { return nil }); err != nil || before != "publish prod" {
		t.Errorf("the error is %v, before it was %q", err, before)
	}
}

// TestRelay: a panic in a goroutine ends where somebody waits, with the stack of where it
// happened, and all other goroutines end first.
func TestRelay(t *testing.T) {
	done := make([]bool, 10)
	err := panics.Barrier{}.Run("", "", func() error {
		var relay panics.Relay
		var wait sync.WaitGroup
		for i := range done {
			wait.Go(func() {
				relay.Run(func() {
					done[i] = true
					if i%3 == 0 {
						inGoroutine()
					}
				})
			})
		}
		wait.Wait()
		relay.Raise()
		return nil
	})
	var e *panics.Error
	if !errors.As(err, &e) || !strings.Contains(e.Stack, "inGoroutine") {
		t.Fatalf("it is %v, with the stack\n%v", err, e)
	}
	for i, ok := range done {
		if !ok {
			t.Errorf("goroutine %d did not run", i)
		}
	}
	new(panics.Relay).Raise() // nothing happened
}

//go:noinline
func inGoroutine() { none[len(none)+1]++ }
