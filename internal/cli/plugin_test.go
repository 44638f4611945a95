package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestCalledName: as a plugin of flux, the program says how it is called.
func TestCalledName(t *testing.T) {
	for program, want := range map[string]string{
		"fairlead": "fairlead", "/usr/bin/fairlead": "fairlead", "/home/x/.fluxcd/plugins/flux-fairlead": "flux fairlead", "flux-fairlead.exe": "flux fairlead", "fairlead-new": "fairlead",
	} {
		if got := calledName(program); got != want {
			t.Errorf("%s is called %s, want %s", program, got, want)
		}
	}
	for args, want := range map[string]string{"check --help": "  flux fairlead check [flags]\n", "checkk": `did you mean "flux fairlead check"`, "__complete sta": "status\t"} {
		var out bytes.Buffer
		runAs(t.Context(), fluxName, strings.Fields(args), &out, &out)
		if !strings.Contains(out.String(), want) {
			t.Errorf("flux fairlead %s prints\n%s\nwithout %q", args, &out, want)
		}
	}
}
