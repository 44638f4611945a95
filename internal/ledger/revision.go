package ledger

import (
	"strings"
	"unicode"
)

// longestRevision is in bytes.
const longestRevision = 253

// Revision is a commit, with its branch if known, or the version of a chart or artifact.
type Revision struct{ Branch, Commit, Version string }

const lengthOfCommit = 40

// ParseRevision parses main@sha1:…, sha1:… and, before Flux 2.0, main/…. Invalid text gives the
// zero Revision.
func ParseRevision(text string) Revision {
	if len(text) > longestRevision || strings.ContainsFunc(text, unicode.IsControl) {
		return Revision{}
	}
	at := max(len(text)-lengthOfCommit, 0)
	branch, commit := text[:at], text[at:]
	if len(commit) < lengthOfCommit || strings.Trim(commit, "0123456789abcdef") != "" {
		return Revision{Version: text}
	}
	if branch == "" || branch == "sha1:" {
		return Revision{Commit: commit}
	}
	for _, end := range []string{"@sha1:", "/"} {
		name, ok := strings.CutSuffix(branch, end)
		if ok && name != "" {
			return Revision{Branch: strings.TrimPrefix(name, "refs/heads/"), Commit: commit}
		}
	}
	return Revision{Version: text}
}

// String returns the canonical form: main@sha1:…, sha1:…, or the version.
func (r Revision) String() string {
	switch {
	case r.Commit == "":
		return r.Version
	case r.Branch == "":
		return "sha1:" + r.Commit
	}
	return r.Branch + "@sha1:" + r.Commit
}
