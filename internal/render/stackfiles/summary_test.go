package stackfiles_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestFlatName: two components have two names, whatever hyphens are in their parts, and those without
// hyphens have the plain one.
func TestFlatName(t *testing.T) {
	if got := stackfiles.FlatName("checkout/Dev/eks"); got != "checkout-dev-eks" {
		t.Errorf("it is %s", got)
	}
	parts := []string{"a", "b", "a-b", "b-a", "a-b-a"}
	names := map[string]string{}
	for _, team := range parts {
		for _, env := range parts {
			all := []string{team + "/" + env}
			for _, component := range parts {
				all = append(all, team+"/"+env+"/"+component)
			}
			for _, name := range all {
				flat := stackfiles.FlatName(name)
				if names[flat] != "" {
					t.Errorf("%s and %s are both %s", names[flat], name, flat)
				}
				names[flat] = name
			}
		}
	}
}
