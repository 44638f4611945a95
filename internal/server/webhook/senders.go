package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"strings"
)

// sender is what differs between the kinds of senders. Of several headers the first that
// is set counts.
type sender struct {
	name            string
	readCredential  func(http.Header) (credential, bool)
	eventHeaders    []string // headers with the name of the event
	deliveryHeaders []string // headers with an id that is another for each delivery
	// parse returns the event and the URLs of its repository. The error is errOther if
	// the event does not concern us; otherwise the payload is malformed.
	parse func(name string, body []byte) (Event, []string, error)
}

// errIrrelevant is the error of an event that does not concern us.
var errIrrelevant = errors.New("the event does not concern Fairlead")

var forgeSenders = []sender{
	{"github", readHMAC("X-Hub-Signature-256"), []string{"X-GitHub-Event"}, []string{"X-GitHub-Delivery"}, parseGitHub},
	{
		"gitea", readHMAC("X-Forgejo-Signature", "X-Gitea-Signature", "X-Hub-Signature-256"),
		[]string{"X-Forgejo-Event", "X-Gitea-Event"}, []string{"X-Forgejo-Delivery", "X-Gitea-Delivery"}, parseGitHub,
	},
	// X-Gitlab-Webhook-UUID is that of the webhook, and not of a delivery, and
	// X-Gitlab-Event-UUID that of a whole chain of events, so neither identifies a
	// repeated delivery. GitLab names the event in the payload as well, which is more
	// precise in system hooks.
	{"gitlab", readToken("X-Gitlab-Token", ""), nil, []string{"Idempotency-Key"}, parseGitLab},
}

// credential proves that the sender knows a secret: it is a MAC of the body, or else a
// digest of the secret.
type credential struct{ mac, token []byte }

func (p credential) isToken() bool { return p.mac == nil }

// matchesAny reports whether the proof matches one of the secrets. Its run time depends on how
// many there are, not on their content.
func (p credential) matchesAny(secrets []string, body []byte) bool {
	good := 0
	for _, secret := range secrets {
		if p.isToken() {
			wanted := sha256.Sum256([]byte(secret))
			good |= subtle.ConstantTimeCompare(wanted[:], p.token)
			continue
		}
		h := hmac.New(sha256.New, []byte(secret))
		h.Write(body)
		good |= subtle.ConstantTimeCompare(h.Sum(nil), p.mac)
	}
	return good == 1
}

// readHMAC reads a signature with HMAC-SHA-256 in hexadecimal digits, which may have
// sha256= before them.
func readHMAC(headers ...string) func(http.Header) (credential, bool) {
	return func(header http.Header) (credential, bool) {
		mac, err := hex.DecodeString(strings.TrimPrefix(firstHeader(header, headers), "sha256="))
		return credential{mac: mac}, err == nil && len(mac) == sha256.Size
	}
}

// readToken reads the secret itself, which a header has after a prefix. Its digest is compared,
// because a comparison of texts reveals whether their lengths are equal.
func readToken(name, prefix string) func(http.Header) (credential, bool) {
	return func(header http.Header) (credential, bool) {
		value, ok := strings.CutPrefix(header.Get(name), prefix)
		sum := sha256.Sum256([]byte(value))
		return credential{token: sum[:]}, ok && value != ""
	}
}

// maxReferenceLength bounds the names of references, in bytes.
const maxReferenceLength = 1024

// fullReference returns the full name of a reference; a short one is a branch's.
func fullReference(name string) string {
	switch {
	case name == "" || len(name) > maxReferenceLength:
		return ""
	case strings.HasPrefix(name, "refs/"):
		return name
	}
	return "refs/heads/" + name
}

var safeWordPattern = regexp.MustCompile(`^[a-z_-]{1,40}$`)

// safeWord returns s if it is a word as forges use them, and "" otherwise.
func safeWord(s string) string {
	if safeWordPattern.MatchString(s) {
		return s
	}
	return ""
}
