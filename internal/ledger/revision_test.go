package ledger_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// TestParseRevision: what the tools on clusters write is read; what is none of their forms is a version.
func TestParseRevision(t *testing.T) {
	commit := strings.Repeat("0123456789", 3) + "abcdef0123"
	for text, want := range map[string]ledger.Revision{
		"":                                {},
		commit:                            {Commit: commit},
		"sha1:" + commit:                  {Commit: commit},
		"main@sha1:" + commit:             {Branch: "main", Commit: commit},
		"main/" + commit:                  {Branch: "main", Commit: commit},
		"feature/x@sha1:" + commit:        {Branch: "feature/x", Commit: commit},
		"a@b@sha1:" + commit:              {Branch: "a@b", Commit: commit},
		"refs/heads/main@sha1:" + commit:  {Branch: "main", Commit: commit},
		"refs/heads/main/" + commit:       {Branch: "main", Commit: commit},
		"1.2.3":                           {Version: "1.2.3"},
		commit[1:]:                        {Version: commit[1:]},
		commit + "0":                      {Version: commit + "0"},
		strings.ToUpper(commit):           {Version: strings.ToUpper(commit)},
		"/" + commit:                      {Version: "/" + commit},
		"@sha1:" + commit:                 {Version: "@sha1:" + commit},
		"mainsha1:" + commit:              {Version: "mainsha1:" + commit},
		"sha256:" + commit:                {Version: "sha256:" + commit},
		"main@" + commit:                  {Version: "main@" + commit},
		"main\n@sha1:" + commit:           {},
		strings.Repeat("m", 214) + commit: {},
		"main@sha1:" + commit[:39] + "g":  {Version: "main@sha1:" + commit[:39] + "g"},
		"main@sha1:x" + commit[:39]:       {Version: "main@sha1:x" + commit[:39]},
	} {
		if got := ledger.ParseRevision(text); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}
