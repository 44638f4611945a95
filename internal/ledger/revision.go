package ledger

import (
	"regexp"
	"strings"
	"unicode"
)

// longestRevision is the greatest length of a revision, in bytes.
const longestRevision = 253

// Revision is a commit, with its branch if that is known, or another version: of a chart, or the
// digest of an artifact.
type Revision struct{ Branch, Commit, Version string }

// commitPattern matches main@sha1:…, sha1:… and, of Flux before 2.0, main/….
var commitPattern = regexp.MustCompile(`^(?:(?:(.+)@)?sha1:|(?:(.+)/)?)([0-9a-f]{40})$`)

// ParseRevision reads a revision as the tools on clusters write it. The zero Revision stands for text
// that cannot be one.
func ParseRevision(text string) Revision {
	if len(text) > longestRevision || strings.ContainsFunc(text, unicode.IsControl) {
		return Revision{}
	}
	m := commitPattern.FindStringSubmatch(text)
	if m == nil {
		return Revision{Version: text}
	}
	return Revision{Branch: strings.TrimPrefix(m[1]+m[2], "refs/heads/"), Commit: m[3]}
}

// String returns a revision in one form, however its cluster writes it: main@sha1:…, sha1:…, or the
// version.
func (r Revision) String() string {
	switch {
	case r.Commit == "":
		return r.Version
	case r.Branch == "":
		return "sha1:" + r.Commit
	}
	return r.Branch + "@sha1:" + r.Commit
}
