// Package kubename checks the names and labels of Kubernetes objects.
//
// What the package keeps true: an API server accepts what passes, by RFC 1123 and
// apimachinery's validation. The checks are loops rather than regular expressions: they run
// for every label of every target of every model.
package kubename

import (
	"fmt"
	"strings"
)

const (
	// MaxLabel is the longest label value, and the longest name of a namespace, in bytes.
	MaxLabel = 63
	// maxName is the longest name of most objects, and the longest key of a ConfigMap.
	maxName = 253
)

// Check returns why an object cannot have this name (DNS subdomain, RFC 1123).
func Check(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("the name is %d characters long; %d is the limit", len(name), maxName)
	}
	if !isSubdomain(name) {
		return fmt.Errorf("%q cannot be a name: lower case letters, digits, '-' and '.', with a letter or digit at both ends", name)
	}
	return nil
}

// CheckLabelKey returns why a label cannot have this key.
func CheckLabelKey(key string) error { return CheckKey("label", key) }

// CheckKey returns why what is written as a label is, such as a taint, cannot have this key.
func CheckKey(what, key string) error {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	if prefixed && (len(prefix) > maxName || !isSubdomain(prefix)) {
		return fmt.Errorf("%q cannot be the key of a %s: the part before '/' is not a DNS name", key, what)
	}
	if name == "" || CheckLabelValue(name) != nil {
		return fmt.Errorf("%q cannot be the key of a %s", key, what)
	}
	return nil
}

// CheckLabelValue returns why a label cannot have this value.
func CheckLabelValue(value string) error { return CheckValue("label", value) }

// CheckValue returns why what is written as a label is, such as a taint, cannot have this value.
func CheckValue(what, value string) error {
	if len(value) > MaxLabel {
		return fmt.Errorf("%q cannot be the value of a %s: it is %d characters long, and %d is the limit", value, what, len(value), MaxLabel)
	}
	if !isWord(value, "-_.") {
		return fmt.Errorf("%q cannot be the value of a %s: letters, digits, '-', '_' and '.', with a letter or digit at both ends", value, what)
	}
	return nil
}

// IsDataKey reports whether a ConfigMap can have the key.
func IsDataKey(key string) bool {
	for i := range len(key) {
		if !isAlphanumeric(key[i]) && strings.IndexByte("-._", key[i]) < 0 {
			return false
		}
	}
	return key != "" && key != "." && !strings.HasPrefix(key, "..") && len(key) <= maxName
}

// IsDNSLabel reports whether a text is a DNS label: it can be part of the names of
// branches, folders and namespaces.
func IsDNSLabel(text string) bool {
	return len(text) <= MaxLabel && IsLongLabel(text)
}

// IsLongLabel is [IsDNSLabel], however long the text is.
func IsLongLabel(text string) bool {
	return text != "" && isWord(text, "-") && strings.ToLower(text) == text
}

// isSubdomain reports whether a name is DNS labels with dots between them.
func isSubdomain(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if !IsLongLabel(part) {
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

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
}
