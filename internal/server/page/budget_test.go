package page

import (
	"bytes"
	"compress/gzip"
	"testing"
)

// TestBudgets: what a browser loads for the first page stays small, and the script too short for a framework.
func TestBudgets(t *testing.T) {
	all := 0
	for _, name := range []string{"fairlead.css", "fairlead.js", "idiomorph.min.js", "icon.svg"} {
		data, contentType := Asset(name)
		if contentType == "" {
			t.Fatalf("there is no %s", name)
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(data)
		_ = w.Close()
		all += packed.Len()
	}
	if most := 14 << 10; all > most {
		t.Errorf("style and scripts are %d bytes when packed, more than %d", all, most)
	}
	style, _ := Asset("fairlead.css")
	if most := 22 << 10; len(style) > most {
		t.Errorf("the style has %d bytes, more than %d", len(style), most)
	}
	script, _ := Asset("fairlead.js")
	if lines := bytes.Count(script, []byte("\n")); lines > 500 {
		t.Errorf("the script has %d lines, more than 500: take htmx instead", lines)
	}
}
