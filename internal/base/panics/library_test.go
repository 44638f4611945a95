package panics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/panics"
)

func TestLibrary(t *testing.T) {
	fine := errors.New("line 3: no such key")
	for _, c := range []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, ""},
		{func() error { return fine }, fine.Error()},
		{func() error { panic("secret") }, "the parser cannot cope with it (panic with a string)"},
		{func() error { writeTo(nil); return nil }, "the parser cannot cope with it (assignment to entry in nil map)"},
	} {
		err := panics.RunLibrary("the parser", c.do)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// writeTo panics if there is no map.
func writeTo(m map[string]int) { m["a"] = 1 }
