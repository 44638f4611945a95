package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// forge is what differs between the kinds of senders. Of several headers the first that
// is set counts.
type forge struct {
	name     string
	proof    func(http.Header) (proof, bool)
	event    []string // headers with the name of the event
	delivery []string // headers with an id that is another for each delivery
	// parse returns the event and the URLs of its repository. The error is errOther if
	// the event does not concern us; otherwise the payload is malformed.
	parse func(name string, body []byte) (Event, []string, error)
}

// errOther is the error of an event that does not concern us.
var errOther = errors.New("the event does not concern Fairlead")

var forges = []forge{
	{"github", hmacOf("X-Hub-Signature-256"), []string{"X-GitHub-Event"}, []string{"X-GitHub-Delivery"}, parseHub},
	{
		"gitea", hmacOf("X-Forgejo-Signature", "X-Gitea-Signature", "X-Hub-Signature-256"),
		[]string{"X-Forgejo-Event", "X-Gitea-Event"}, []string{"X-Forgejo-Delivery", "X-Gitea-Delivery"}, parseHub,
	},
	// X-Gitlab-Webhook-UUID is that of the webhook, and not of a delivery, and
	// X-Gitlab-Event-UUID that of a whole chain of events, so neither identifies a
	// repeated delivery. GitLab names the event in the payload as well, which is more
	// precise in system hooks.
	{"gitlab", token, nil, []string{"Idempotency-Key"}, parseLab},
}

// flux is not a forge: its deliveries are reports of clusters.
var flux = forge{name: "flux", proof: hmacOf("X-Signature")}

func forgeOf(name string) (forge, bool) {
	if name == flux.name {
		return flux, true
	}
	i := slices.IndexFunc(forges, func(f forge) bool { return f.name == name })
	if i < 0 {
		return forge{}, false
	}
	return forges[i], true
}

// proof proves that the sender knows a secret: it is a MAC of the body, or else a
// digest of the secret.
type proof struct{ mac, token []byte }

func (p proof) isToken() bool { return p.mac == nil }

// holds reports whether the proof matches one of the secrets. Its run time depends on how
// many there are, not on their content.
func (p proof) holds(secrets []string, body []byte) bool {
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

// hmacOf reads a signature with HMAC-SHA-256 in hexadecimal digits, which may have
// sha256= before them.
func hmacOf(headers ...string) func(http.Header) (proof, bool) {
	return func(header http.Header) (proof, bool) {
		mac, err := hex.DecodeString(strings.TrimPrefix(first(header, headers), "sha256="))
		return proof{mac: mac}, err == nil && len(mac) == sha256.Size
	}
}

// token reads the secret itself, which GitLab sends. Its digest is compared, because a
// comparison of texts reveals whether their lengths are equal.
func token(header http.Header) (proof, bool) {
	value := header.Get("X-Gitlab-Token")
	sum := sha256.Sum256([]byte(value))
	return proof{token: sum[:]}, value != ""
}

// longest bounds the names of references, in bytes.
const longest = 1024

// refOf returns the full name of a reference; a short one is a branch's.
func refOf(name string) string {
	switch {
	case name == "" || len(name) > longest:
		return ""
	case strings.HasPrefix(name, "refs/"):
		return name
	}
	return "refs/heads/" + name
}

var word = regexp.MustCompile(`^[a-z_-]{1,40}$`)

// wordOf returns s if it is a word as forges use them, and "" otherwise.
func wordOf(s string) string {
	if word.MatchString(s) {
		return s
	}
	return ""
}
