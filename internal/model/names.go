package model

import (
	"fmt"
	"regexp"
	"strings"
)

// maxLabel is the longest label value, and the longest name of a namespace, that
// Kubernetes takes.
const maxLabel = 63

var (
	subdomain  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	dataKey    = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)
	labelValue = regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`)
)

// checkName says why an object cannot have this name (DNS subdomain, RFC 1123).
func checkName(name string) error {
	if len(name) > 253 {
		return fmt.Errorf("the name is %d characters long; 253 is the limit", len(name))
	}
	if !subdomain.MatchString(name) {
		return fmt.Errorf("%q cannot be a name: lower case letters, digits, '-' and '.', with a letter or digit at both ends", name)
	}
	return nil
}

// checkLabelValue says why a label cannot have this value.
func checkLabelValue(value string) error {
	if len(value) > maxLabel {
		return fmt.Errorf("%q cannot be the value of a label: it is %d characters long, and %d is the limit", value, len(value), maxLabel)
	}
	if !labelValue.MatchString(value) {
		return fmt.Errorf("%q cannot be the value of a label: letters, digits, '-', '_' and '.', with a letter or digit at both ends", value)
	}
	return nil
}

// checkLabelKey says why a label cannot have this key.
func checkLabelKey(key string) error {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	if prefixed && (len(prefix) > 253 || !subdomain.MatchString(prefix)) {
		return fmt.Errorf("%q cannot be the key of a label: the part before '/' is not a DNS name", key)
	}
	if name == "" || checkLabelValue(name) != nil {
		return fmt.Errorf("%q cannot be the key of a label", key)
	}
	return nil
}
