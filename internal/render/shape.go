package render

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

// Shape identifies texts of one template that a check cannot distinguish: they differ
// only in words that are whole values of keys. If one is YAML without duplicate keys
// and plaintext Secrets, so are the others, and one check is enough. Checking all texts
// of 100,000 assignments would cost 15 % more: 12.4 µs of CPU each instead of 10.7 µs.
type Shape struct {
	key     []byte
	unknown bool
}

// Reset prepares the shape for another text.
func (s *Shape) Reset() { s.key, s.unknown = s.key[:0], false }

// Key returns the shape as a map key; false if it is unknown.
func (s *Shape) Key() ([]byte, bool) { return s.key, !s.unknown }

func (s *Shape) markUnknown() {
	if s != nil {
		s.unknown = true
	}
}

// maxShape bounds a key: long texts of blocks are not worth comparing.
const maxShape = 256

func (s *Shape) addBlock(b *blockPart, text []byte, of values.Digest, changed bool) {
	switch {
	case s == nil || s.unknown:
	case b.readsOnlyValues() && !changed:
		s.key = append(s.key, of[:]...)
	case len(s.key)+len(text) > maxShape:
		s.unknown = true
	default:
		s.key = append(append(s.key, text...), 0)
	}
}

// addField adds a field. Plain words do not affect the shape.
func (s *Shape) addField(f *fieldPart, value []byte) {
	if s == nil || s.unknown {
		return
	}
	if !f.alone || !isWord(value) {
		s.unknown = true
	}
}

// Text before a field that is the whole value of a key. A kind or apiVersion would
// change the meaning of the object.
var (
	keyBefore  = regexp.MustCompile(`\n *(?:- )?([A-Za-z][-\w./]*): +(")?$`)
	meansTypes = []string{"kind", "apiVersion"}
)

// standsAlone reports whether a field between two literals is the whole value of a key.
// The key must be on a line that the literal begins.
func standsAlone(before, after []byte) bool {
	m := keyBefore.FindSubmatch(before)
	if m == nil || slices.Contains(meansTypes, string(m[1])) {
		return false
	}
	if len(m[2]) > 0 {
		return bytes.HasPrefix(after, []byte("\"\n"))
	}
	return bytes.HasPrefix(after, []byte("\n"))
}

var notText = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

// isWord reports whether a value is a plain word: a lower-case letter, then letters,
// digits, "-", "." and "/".
func isWord(value []byte) bool {
	value = bytes.Trim(value, `"`)
	if len(value) == 0 || len(value) > 253 || value[0] < 'a' || value[0] > 'z' {
		return false
	}
	for _, c := range value {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '/' {
			return false
		}
	}
	return len(value) > 5 || !slices.Contains(notText, strings.ToLower(string(value)))
}
