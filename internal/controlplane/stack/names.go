package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const (
	maxNamespace = kubename.MaxLabel
	// maxObjectName leaves room for "-tf-runner", "-outputs" and the like in the names of the pods
	// and Secrets that controllers derive from an object.
	maxObjectName = 50
	// hashDigits is the length of the hash that ends a shortened name.
	hashDigits = 8
)

// validName matches the names that CloudKnit's admission takes.
var validName = regexp.MustCompile(`^[a-zA-Z]+[a-zA-Z0-9]*(-[a-zA-Z0-9]+)*$`)

func (r *resolver) checkName(s *Stack, field string, name model.Text) bool {
	if s.isMissing(name.Text, name.Line) {
		return false
	}
	if len(name.Text) > kubename.MaxLabel {
		r.addf(s, name.Line, "shorten it", "%s is %d characters long, and %d is the limit: %s", field, len(name.Text), kubename.MaxLabel, name.Text)
		return false
	}
	if !validName.MatchString(name.Text) {
		r.addf(s, name.Line, "it is letters and digits with single hyphens between them, and begins with a letter", "%s cannot be %q", field, name.Text)
		return false
	}
	return true
}

func (r *resolver) warnOfTeams() {
	for _, t := range r.model.Stacks.Teams {
		if name := t.TeamName.Text; name != "" && (len(name) > kubename.MaxLabel || !validName.MatchString(name)) {
			r.problems.Warnf(problem.Pos{Layer: t.Pos.Layer, File: t.Pos.File, Line: t.TeamName.Line}, t.Subject(), "it is letters and digits with single hyphens between them, and begins with a letter",
				"spec.teamName is %q, which no stack can have", text.Shorten(name, 100))
		}
	}
}

// isMissing reports whether a required text is not written, which decoding has reported. What a
// kustomization builds has no lines.
func (s *Stack) isMissing(text string, line int) bool {
	return text == "" && line == 0 && s.Pos.Line > 0
}

// SafeName returns a name that objects can have: a text in lower case. One with other characters than names have
// ends with a hash of it.
func SafeName(text string) string {
	lower := strings.ToLower(text)
	if kubename.Check(lower) == nil {
		return lower
	}
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, lower)
	sum := sha256.Sum256([]byte(text))
	return strings.Trim(safe, "-") + "-" + hex.EncodeToString(sum[:hashDigits/2])
}

// ShortenName returns a name for objects: in lower case, and at most limit characters long. The end
// of one that is too long is a hash of all of it.
func ShortenName(name string, limit int) string {
	lower := strings.ToLower(name)
	if len(lower) <= limit {
		return lower
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(lower[:limit-hashDigits-1], "-") + "-" + hex.EncodeToString(sum[:hashDigits/2])
}
