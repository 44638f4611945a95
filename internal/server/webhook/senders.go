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

// sender describes a kind of sender. The first header that is set counts.
type sender struct {
	name            string
	readCredential  func(http.Header) (credential, bool)
	eventHeaders    []string
	deliveryHeaders []string // unique id of a delivery
	// parse returns the event and its repository's URLs. The error is errIrrelevant for an
	// irrelevant event; other errors mean a malformed payload.
	parse func(name string, body []byte) (Event, []string, error)
}

var errIrrelevant = errors.New("the event does not concern Fairlead")

var forgeSenders = []sender{
	{"github", readHMAC("X-Hub-Signature-256"), []string{"X-GitHub-Event"}, []string{"X-GitHub-Delivery"}, parseGitHub},
	{
		"gitea", readHMAC("X-Forgejo-Signature", "X-Gitea-Signature", "X-Hub-Signature-256"),
		[]string{"X-Forgejo-Event", "X-Gitea-Event"}, []string{"X-Forgejo-Delivery", "X-Gitea-Delivery"}, parseGitHub,
	},
	// GitLab's X-Gitlab-Webhook-UUID is per webhook and X-Gitlab-Event-UUID per chain of events, so
	// neither identifies a delivery. The payload names system hooks more precisely than a header.
	{"gitlab", readToken("X-Gitlab-Token", ""), nil, []string{"Idempotency-Key"}, parseGitLab},
}

type credential struct{ mac, token []byte }

func (p credential) isToken() bool { return p.mac == nil }

// matchesAny's run time does not depend on the content of secrets.
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

func readHMAC(headers ...string) func(http.Header) (credential, bool) {
	return func(header http.Header) (credential, bool) {
		mac, err := hex.DecodeString(strings.TrimPrefix(firstHeader(header, headers), "sha256="))
		return credential{mac: mac}, err == nil && len(mac) == sha256.Size
	}
}

// readToken reads the secret itself after a prefix. Digests are compared, because comparing texts
// reveals whether their lengths are equal.
func readToken(name, prefix string) func(http.Header) (credential, bool) {
	return func(header http.Header) (credential, bool) {
		value, ok := strings.CutPrefix(header.Get(name), prefix)
		sum := sha256.Sum256([]byte(value))
		return credential{token: sum[:]}, ok && value != ""
	}
}

const maxReferenceLength = 1024

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

// safeWord returns "" for text other than a forge's word.
func safeWord(s string) string {
	if safeWordPattern.MatchString(s) {
		return s
	}
	return ""
}
