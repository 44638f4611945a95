package display

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormatTable: columns are as wide as they need to be. Only a terminal makes some of them
// narrower, and nothing that says what to do is cut.
func TestFormatTable(t *testing.T) {
	columns := []Column{
		{Heading: "NAME"}, {Heading: "LABELS", Fit: Shorten}, {Heading: "NEXT", Fit: Wrap},
		{Colour: func(cell string) string { return map[string]string{"bad": Red}[cell] }},
	}
	rows := [][]string{
		{"düne", "region=eu,size=small,zone=1", "run fairlead approve dev --removals now", "bad"},
		{"a", "in\nsync", "", ""},
	}
	for name, test := range map[string]struct {
		stream *Stream
		want   string
	}{
		"a pipe": {NewStream(&bytes.Buffer{}), `NAME  LABELS                       NEXT
düne  region=eu,size=small,zone=1  run fairlead approve dev --removals now  bad
a     in sync
`},
		"a wide terminal": {NewTerminal(&bytes.Buffer{}, 200), `NAME  LABELS                       NEXT
düne  region=eu,size=small,zone=1  run fairlead approve dev --removals now  RED(bad)
a     in sync
`},
		"a narrow terminal": {NewTerminal(&bytes.Buffer{}, 60), `NAME  LABELS                   NEXT
düne  region=eu,size=small,z…  run fairlead approve dev  RED(bad)
                               --removals now
a     in sync
`},
		"a terminal that is much too narrow": {NewTerminal(&bytes.Buffer{}, 10), `NAME  LABELS            NEXT
düne  region=eu,size=…  run fairlead      RED(bad)
                        approve dev
                        --removals now
a     in sync
`},
		"a terminal of unknown width": {NewTerminal(&bytes.Buffer{}, 0), `NAME  LABELS                       NEXT
düne  region=eu,size=small,zone=1  run fairlead approve dev --removals now  RED(bad)
a     in sync
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("COLUMNS", "")
			got := test.stream.FormatTable(columns, rows)
			got = string(bytes.ReplaceAll([]byte(got), []byte(Red+"bad"+reset), []byte("RED(bad)")))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
