package kubename_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
)

// TestLikeKubernetes compares the checks with those of an API server.
func TestLikeKubernetes(t *testing.T) {
	texts := []string{
		"", "a", "A", "0", "-", ".", "..", "_", "/", "a/", "/a", "a/b", "a/b/c", "a-b", "a.b", "a_b", "-a", "a-", ".a", "a.", "_a", "a_",
		"a..b", "..a", "...", "a.-b", "a-.b", "A.b", "a.B", "example.com/name", "Example.com/name", "example.com/Name", "example.com/-", "exa_mple.com/a",
		"ä", "a b", "a\n", "{{.Name}}", "192.168.0.1",
	}
	for _, n := range []int{62, 63, 64, 252, 253, 254} {
		long := strings.Repeat("a", n)
		texts = append(texts, long, long+"/b", "b/"+long, strings.Repeat("a.", n/2)+"b", strings.Repeat("a.", n/2)+"b/c")
	}
	for _, check := range []struct {
		what   string
		ours   func(string) bool
		theirs func(string) []string
	}{
		{"a name", passes(kubename.Check), validation.IsDNS1123Subdomain},
		{"a key of a label", passes(kubename.CheckLabelKey), validation.IsQualifiedName},
		{"a value of a label", passes(kubename.CheckLabelValue), validation.IsValidLabelValue},
		{"a key of data", kubename.IsDataKey, validation.IsConfigMapKey},
		{"a DNS label", kubename.IsDNSLabel, validation.IsDNS1123Label},
	} {
		for _, text := range texts {
			if ours, theirs := check.ours(text), check.theirs(text); ours != (len(theirs) == 0) {
				t.Errorf("%.70q is %s: we say %t, Kubernetes %s", text, check.what, ours, fmt.Sprint(theirs))
			}
		}
	}
}

func passes(check func(string) error) func(string) bool {
	return func(text string) bool { return check(text) == nil }
}
