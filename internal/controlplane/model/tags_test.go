package model

import (
	"fmt"
	"strings"
	"testing"
)

// TestTags: the newest tag is that of the greatest version, and prereleases count where the range has one.
func TestTags(t *testing.T) {
	for _, c := range []struct{ pattern, within, tags, want string }{
		{"v*", "", "v1.9.0 v1.10.0 v2.0.0-rc.1 1.11.0 v1.x latest", "v1.10.0"},
		{"*", "", "v1.9.0 1.10.0", "1.10.0"},
		{"v*", ">=1.4.0 <2", "v1.3.0 v1.5.0 v2.1.0", "v1.5.0"},
		{"v*", ">=2.0.0-0", "v1.9.0 v2.0.0-rc.1", "v2.0.0-rc.1"},
		{"checkout/v*", "", "checkout/v1.2.0 cart/v9.0.0 v8.0.0", "checkout/v1.2.0"},
		{"release-1.*", "", "release-1.4.2 release-1.10.0 release-2.0.0", "release-1.10.0"},
		{"v*", "", "v1.0.0+a v1.0.0+b", "v1.0.0+b"},
		{"v*", "", "version veto v", ""},
		{"v*", "", "v0.0.0", "v0.0.0"},
	} {
		tags, err := NewTags(c.pattern, c.within)
		if err != nil {
			t.Fatal(err)
		}
		if got := tags.Newest(strings.Fields(c.tags), nil); got != c.want {
			t.Errorf("%s %s of %s: %q, want %q", c.pattern, c.within, c.tags, got, c.want)
		}
	}
	for _, bad := range [][2]string{{"v[", ""}, {"v*", "one"}, {"v*", ">=1 <"}} {
		if _, err := NewTags(bad[0], bad[1]); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func BenchmarkTags(b *testing.B) {
	tags, err := NewTags("v*", ">=1.4.0 <200")
	if err != nil {
		b.Fatal(err)
	}
	all := make([]string, 10_000)
	for i := range all {
		all[i] = fmt.Sprintf("v%d.%d.%d", i/100, i%100, i%7)
	}
	for b.Loop() {
		if tags.Newest(all, nil) == "" {
			b.Fatal("none")
		}
	}
}
