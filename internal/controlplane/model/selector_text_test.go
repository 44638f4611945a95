package model_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestParseSelector: what a selector is written as is parsed to the same selector.
func TestParseSelector(t *testing.T) {
	for text, want := range map[string]string{
		"": "everything", "everything": "everything", "a=b": "a=b", "a==b": "a=b", "a!=b": "a notin (b)", "a": "a", "!a": "!a",
		"a in (b, c),d notin (e)": "a in (b,c), d notin (e)", "x/y=z, !w": "x/y=z, !w",
	} {
		s, ok := model.ParseSelector(text)
		if got := s.String(); !ok || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, ok, want)
		}
		again, ok := model.ParseSelector(s.String())
		if !ok || again.String() != want {
			t.Errorf("%q is %q when it is parsed again", want, again)
		}
	}
	for _, text := range []string{",", "a,", "=b", "a b", "a in b", "a on (b)", "in (b)", "a in (b", "!"} {
		if s, ok := model.ParseSelector(text); ok {
			t.Errorf("%q is %q", text, s)
		}
	}
}
