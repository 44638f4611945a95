package text_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

func TestCount(t *testing.T) {
	for n, want := range []string{"0 files", "1 file", "2 files"} {
		if got := text.Count(n, "file"); got != want {
			t.Errorf("Count(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for given, want := range map[string]string{"": "", " \n": "", "one": "one", "yaml: line 3:\n\tbad  indent ": "yaml: line 3: bad indent"} {
		if got := text.OneLine(given); got != want {
			t.Errorf("OneLine(%q) is %q, want %q", given, got, want)
		}
	}
}
