package stack

import (
	"regexp"
	"strings"
)

var (
	// secretText matches what can be nothing but a secret: keys of AWS, GitHub, GitLab and Slack, and
	// private keys.
	secretText = regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[0-9A-Za-z]{36}|\bglpat-[0-9A-Za-z_-]{20}|\bxox[abprs]-[0-9A-Za-z-]{10}|-----BEGIN [A-Z ]*PRIVATE KEY-----`)
	// secretName matches the names of inputs that hold a secret.
	secretName = regexp.MustCompile(`(?i)(^|[^a-z])(password|passwd|passphrase|secret|secret_?key|secret_?access_?key|private_?key|api_?key|token|auth_?token|access_?token|credentials?)$`)
)

// HasSecret reports whether a text contains what can be nothing but a secret.
func HasSecret(text string) bool { return secretText.MatchString(text) }

// IsSecretName reports whether an input of that name holds a secret: a text is then one in clear,
// unless it is an expression.
func IsSecretName(name, value string) bool {
	return value != "" && !strings.Contains(value, "${") && secretName.MatchString(name)
}

// checkClear reports the secrets that the variables of a component hold in clear: root modules and
// objects are published.
func (r *resolver) checkClear(c *Component) {
	const hint = "put it into secrets, and change it: it is in the history of the repository"
	for _, v := range c.Variables {
		switch {
		case v.From != nil:
		case HasSecret(v.Value):
			r.addf(c.Stack, v.Line, hint, "component %s: the variable %s holds a secret in clear", c.Name, v.Name)
		case IsSecretName(v.Name, v.Value):
			r.warnf(c.Stack, v.Line, hint, "component %s: the variable %s looks like a secret in clear", c.Name, v.Name)
		}
	}
	for _, o := range c.OverlayData {
		if HasSecret(o.Data.Text) {
			r.addf(c.Stack, o.Name.Line, hint, "component %s: overlayData %s holds a secret in clear", c.Name, o.Name.Text)
		}
	}
}
