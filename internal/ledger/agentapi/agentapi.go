// Package agentapi defines the protocol between an agent on a cluster and the ledger: entries,
// their digest, the requests and their signature.
//
// Digests do not depend on the order of objects, and change with every meaningful change. A
// signature covers method, address and body. Decoded requests are within bounds.
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
	// Path is the address for reports.
	Path = "/api/v1/fleet/reports"
	// ClusterHeader names the cluster of a request.
	ClusterHeader = "X-Fairlead-Cluster"
	// SignatureHeader carries the signature of a request.
	SignatureHeader = "X-Fairlead-Signature"
	// Version is the protocol version.
	Version = 1
	// MaxBody limits a body as sent, in bytes.
	MaxBody = 1 << 20
	// MaxText limits a decompressed body, in bytes.
	MaxText = 8 << 20
	// MaxEntries limits the objects of a cluster.
	MaxEntries = 4096
	// MinEvery and MaxEvery bound the report interval.
	MinEvery, MaxEvery = 10 * time.Second, time.Hour
)

const signaturePrefix = "sha256="

// Sign returns the signature of a request to Path, even if a proxy rewrites the address.
func Sign(key, method string, body []byte) string {
	return signaturePrefix + hex.EncodeToString(computeMAC(key, method, body))
}

func computeMAC(key, method string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(method + "\n" + Path + "\n"))
	h.Write(body)
	return h.Sum(nil)
}

// Verify reports whether one of the keys signed a request, in time independent of their content.
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

// Request is a report of an agent.
type Request struct {
	Version int    `json:"v"`
	Cluster string `json:"cluster"`
	// UID is that of the namespace kube-system.
	UID string `json:"uid"`
	// Boot is different after each start of the agent; Sequence counts its requests.
	Boot     string    `json:"boot"`
	Sequence uint64    `json:"seq"`
	Sent     time.Time `json:"sent"` // by the clock of the cluster
	// Every is the intended interval of reports, as "1m0s".
	Every string `json:"every"`
	// Count is the number of objects, and Digest identifies their state.
	Count  int    `json:"count"`
	Digest string `json:"digest"`
	// Full is set if Entries has all objects. Base is set if Entries and Gone are the changes since
	// that digest. Without both, nothing changed.
	Full    bool    `json:"full,omitempty"`
	Base    string  `json:"base,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
	// Gone has the names of removed objects.
	Gone []string `json:"gone,omitempty"`
	// Unread has the kinds that could not be read.
	Unread []Unread `json:"unread,omitempty"`
	// Agent is the agent's version.
	Agent string `json:"agent,omitempty"`
}

// Unread is a kind that an agent could not read.
type Unread struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// Answer is the response with status 200. An empty answer has status 204.
type Answer struct {
	// Want is WantFull if the agent must send all objects.
	Want string `json:"want,omitempty"`
	// Every asks the agent to report less often, as "2m0s".
	Every string `json:"every,omitempty"`
}

// WantFull asks for all objects.
const WantFull = "full"

// Refusal is the response with any other status.
type Refusal struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}
