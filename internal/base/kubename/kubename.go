// Package kubename checks the names and labels of Kubernetes objects.
//
// What the package keeps true: an API server accepts what passes, by RFC 1123 and apimachinery's
// validation. The checks are loops instead of regular expressions, since they run for every label
// of every target.
package kubename

import (
	"fmt"
	"strings"
)

const (
	// MaxLabel is the maximum length of a label value and of a namespace, in bytes.
	MaxLabel = 63
	maxName  = 253
)

// Check returns an error unless name is a DNS subdomain (RFC 1123).
func Check(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("the name is %d characters long; %d is the limit", len(name), maxName)
	}
	if !isSubdomain(name) {
		return fmt.Errorf("%q cannot be a name: lower case letters, digits, '-' and '.', with a letter or digit at both ends", name)
	}
	return nil
}

// CheckLabelKey returns an error unless key is valid for a label.
func CheckLabelKey(key string) error { return CheckKey("label", key) }

// CheckKey is CheckLabelKey for other things with label syntax, such as a taint.
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

// CheckLabelValue returns an error unless value is valid for a label.
func CheckLabelValue(value string) error { return CheckValue("label", value) }

// CheckValue is CheckLabelValue for other things with label syntax, such as a taint.
func CheckValue(what, value string) error {
	if len(value) > MaxLabel {
		return fmt.Errorf("%q cannot be the value of a %s: it is %d characters long, and %d is the limit", value, what, len(value), MaxLabel)
	}
	if !isWord(value, "-_.") {
		return fmt.Errorf("%q cannot be the value of a %s: letters, digits, '-', '_' and '.', with a letter or digit at both ends", value, what)
	}
	return nil
}

// IsDataKey reports whether key is valid in a ConfigMap.
func IsDataKey(key string) bool {
	for i := range len(key) {
		if !isAlphanumeric(key[i]) && strings.IndexByte("-._", key[i]) < 0 {
			return false
		}
	}
	return key != "" && key != "." && !strings.HasPrefix(key, "..") && len(key) <= maxName
}

// IsDNSLabel reports whether text is a DNS label, valid in names of branches, folders and
// namespaces.
func IsDNSLabel(text string) bool {
	return len(text) <= MaxLabel && IsLongLabel(text)
}

// IsLongLabel is [IsDNSLabel] without a limit of length.
func IsLongLabel(text string) bool {
	return text != "" && isWord(text, "-") && strings.ToLower(text) == text
}

func isSubdomain(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if !IsLongLabel(part) {
			return false
		}
	}
	return true
}

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
