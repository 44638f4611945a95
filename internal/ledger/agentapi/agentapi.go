// Package agentapi describes what an agent on a cluster sends to the ledger, and what it is answered:
// entries of objects, their digest, the requests that carry them, and the signature that proves them.
//
// What the package keeps true: the same objects have the same digest, in whatever order they were
// read, and another one as soon as anything changes that means something; a change, applied to what
// it is a difference from, is what it was made from; a signature is of one method, one address and
// one body; what is read from a request is within bounds.
package agentapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"
)

const (
	// Path is the address that reports are posted to.
	Path = "/api/v1/fleet/reports"
	// ClusterHeader names the cluster that a request is of.
	ClusterHeader = "X-Fairlead-Cluster"
	// SignatureHeader has the signature of a request.
	SignatureHeader = "X-Fairlead-Signature"
	// Version is the version of the protocol.
	Version = 1
	// MaxBody is the size, in bytes, that a body has at most as it is sent.
	MaxBody = 1 << 20
	// MaxText is the size, in bytes, that a body has at most once it is decompressed.
	MaxText = 8 << 20
	// MaxEntries is how many objects a cluster can report.
	MaxEntries = 4096
	// MinEvery and MaxEvery bound how often an agent reports.
	MinEvery, MaxEvery = 10 * time.Second, time.Hour
)

const signaturePrefix = "sha256="

// Sign returns the signature of a request. The address is Path, whatever a proxy makes of it.
func Sign(key, method string, body []byte) string {
	return signaturePrefix + hex.EncodeToString(computeMAC(key, method, body))
}

func computeMAC(key, method string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(method + "\n" + Path + "\n"))
	h.Write(body)
	return h.Sum(nil)
}

// Verify reports whether a request was signed with one of the keys. Its run time does not depend on
// their content.
func Verify(signature string, keys []string, method string, body []byte) bool {
	mac, err := hex.DecodeString(strings.TrimPrefix(signature, signaturePrefix))
	if err != nil || len(mac) != sha256.Size {
		return false
	}
	good := 0
	for _, key := range keys {
		if key != "" {
			good |= subtle.ConstantTimeCompare(mac, computeMAC(key, method, body))
		}
	}
	return good == 1
}

// Request is what an agent sends.
type Request struct {
	Version int    `json:"v"`
	Cluster string `json:"cluster"`
	// UID is that of the namespace kube-system.
	UID string `json:"uid"`
	// Boot is another one after each start of the agent; Sequence counts its requests.
	Boot     string    `json:"boot"`
	Sequence uint64    `json:"seq"`
	Sent     time.Time `json:"sent"` // by the clock of the cluster
	// Every is how often the agent means to report, as "1m0s".
	Every string `json:"every"`
	// Count is how many objects there are, and Digest identifies their state.
	Count  int    `json:"count"`
	Digest string `json:"digest"`
	// Full is set if Entries are all objects. Base is set if Entries and Gone are what has changed
	// since the state of that digest. A request with neither says that all is as it was.
	Full    bool    `json:"full,omitempty"`
	Base    string  `json:"base,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
	// Gone are the names of objects that are no longer there.
	Gone []string `json:"gone,omitempty"`
	// Unread are the kinds whose objects could not be read, with the reason.
	Unread []Unread `json:"unread,omitempty"`
	// Agent is the version of the agent.
	Agent string `json:"agent,omitempty"`
}

// Unread is a kind of objects that an agent could not read.
type Unread struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// Answer is what an agent is answered with status 200. An empty answer has status 204.
type Answer struct {
	// Want is WantFull if the agent has to send all objects.
	Want string `json:"want,omitempty"`
	// Every asks the agent to report less often, as "2m0s".
	Every string `json:"every,omitempty"`
}

// WantFull is the word of an Answer that asks for all objects.
const WantFull = "full"

// Refusal is what an agent is answered with any other status.
type Refusal struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}
