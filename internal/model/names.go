package model

import (
	"fmt"
	"strings"
)

// maxLabel is the longest label value, and the longest name of a namespace, that
// Kubernetes takes.
const maxLabel = 63

// The checks are loops rather than regular expressions: they run for every label
// of every target of every model.

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
}

// isSubdomain reports whether a name is a DNS subdomain, in lower case.
func isSubdomain(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if !isWord(part, "-") || part == "" || strings.ToLower(part) != part {
			return false
		}
	}
	return true
}

// isWord reports whether a text is empty, or letters, digits and the others, with
// a letter or digit at both ends.
func isWord(text, others string) bool {
	for i := range len(text) {
		end := i == 0 || i == len(text)-1
		if !isAlphanumeric(text[i]) && (end || strings.IndexByte(others, text[i]) < 0) {
			return false
		}
	}
	return true
}

// isDataKey reports whether a ConfigMap can have the key.
func isDataKey(key string) bool {
	for i := range len(key) {
		if !isAlphanumeric(key[i]) && strings.IndexByte("-._", key[i]) < 0 {
			return false
		}
	}
	return key != "" && key != "." && key != ".."
}

// checkName says why an object cannot have this name (DNS subdomain, RFC 1123).
func checkName(name string) error {
	if len(name) > 253 {
		return fmt.Errorf("the name is %d characters long; 253 is the limit", len(name))
	}
	if !isSubdomain(name) {
		return fmt.Errorf("%q cannot be a name: lower case letters, digits, '-' and '.', with a letter or digit at both ends", name)
	}
	return nil
}

// checkLabelValue says why a label cannot have this value.
func checkLabelValue(value string) error {
	if len(value) > maxLabel {
		return fmt.Errorf("%q cannot be the value of a label: it is %d characters long, and %d is the limit", value, len(value), maxLabel)
	}
	if !isWord(value, "-_.") {
		return fmt.Errorf("%q cannot be the value of a label: letters, digits, '-', '_' and '.', with a letter or digit at both ends", value)
	}
	return nil
}

// labelHint goes with what cannot be a label.
const labelHint = "labels are for selecting; put other text into an annotation"

// isTemplate reports whether a text is to be expanded: Kalypso's users have labels
// that become what they are in the output of a template.
func isTemplate(text string) bool { return strings.Contains(text, "{{") }

// checkLabelKey says why a label cannot have this key.
func checkLabelKey(key string) error {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	if prefixed && (len(prefix) > 253 || !isSubdomain(prefix)) {
		return fmt.Errorf("%q cannot be the key of a label: the part before '/' is not a DNS name", key)
	}
	if name == "" || checkLabelValue(name) != nil {
		return fmt.Errorf("%q cannot be the key of a label", key)
	}
	return nil
}
