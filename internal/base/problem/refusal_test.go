package problem_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

func TestRefusal(t *testing.T) {
	for want, r := range map[string]*problem.Refusal{
		"dev is held: by hand":       problem.Refusef("release it", "%s is held: %s", "dev", "by hand"),
		"read x: no":                 {Operation: "read x", Reason: "no", Advice: "release it"},
		"read x: unexpected EOF: no": {Operation: "read x", Reason: "no", Advice: "release it", Kind: io.ErrUnexpectedEOF},
		"cut: unexpected EOF":        problem.WithHint(fmt.Errorf("cut: %w", io.ErrUnexpectedEOF), "release it"),
	} {
		if r.Error() != want || r.Hint() != "release it" {
			t.Errorf("got %q with the hint %q, want %q", r, r.Hint(), want)
		}
		if (r.Kind != nil) != errors.Is(r, io.ErrUnexpectedEOF) {
			t.Errorf("%q: errors.Is does not find its kind %v", want, r.Kind)
		}
	}
}
