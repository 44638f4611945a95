package agentapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// Bounds of the words in a request, in bytes.
const (
	longestName    = 253 // the Kubernetes limit
	longestText    = 1024
	longestMessage = 300
	longestDigest  = 64
	maxPast        = 8 // per object
	maxUnread      = 32
)

// Encode returns the body of a request, optionally compressed.
func (r Request) Encode(compress bool) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil || !compress {
		return body, err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(body)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// Decode parses and checks a body. It ignores unknown fields, which a newer agent may send.
func Decode(body []byte, compressed bool) (Request, error) {
	if compressed {
		text, err := decompress(body)
		if err != nil {
			return Request{}, fmt.Errorf("decompress a report: %w", err)
		}
		body = text
	}
	var r Request
	if err := json.Unmarshal(body, &r); err != nil {
		return Request{}, fmt.Errorf("read a report: %w", err)
	}
	if err := r.check(); err != nil {
		return Request{}, fmt.Errorf("read a report: %w", err)
	}
	return r, nil
}

func decompress(body []byte) ([]byte, error) {
	in, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, MaxText+1))
	if err == nil && len(text) > MaxText {
		err = fmt.Errorf("it has more than %d bytes", MaxText)
	}
	return text, err
}

func (r Request) check() error {
	every, err := time.ParseDuration(r.Every)
	switch {
	case r.Version != Version:
		return fmt.Errorf("v is %d, and only %d is known", r.Version, Version)
	case r.Boot == "" || r.Sequence == 0:
		return errors.New("boot or seq is missing")
	case r.Digest == "":
		return errors.New("digest is missing")
	case r.Sent.IsZero():
		return errors.New("sent is missing")
	case err != nil || every < MinEvery || every > MaxEvery:
		return fmt.Errorf("every is %q, and should be from %s to %s", r.Every, MinEvery, MaxEvery)
	case r.Full && r.Base != "":
		return errors.New("full and base are both given")
	case !r.Full && r.Base == "" && len(r.Entries)+len(r.Gone) > 0:
		return errors.New("entries are there without full or base")
	case len(r.Entries) > MaxEntries || len(r.Gone) > MaxEntries || len(r.Unread) > maxUnread:
		return fmt.Errorf("there are more than %d entries", MaxEntries)
	}
	err = errors.Join(
		checkWords(longestName, r.Cluster, r.UID, r.Agent),
		checkWords(longestDigest, r.Boot, r.Digest, r.Base),
		checkWords(3*longestName, r.Gone...),
	)
	for _, u := range r.Unread {
		err = errors.Join(err, checkWords(longestName, u.Kind), checkWords(longestText, u.Reason))
	}
	if err != nil {
		return err
	}
	for _, e := range r.Entries {
		if err := e.check(); err != nil {
			return fmt.Errorf("entry %q: %w", e.ObjectName(), err)
		}
	}
	return nil
}

func (e Entry) check() error {
	if e.Kind == "" || e.Name == "" || strings.Contains(e.Kind+e.Namespace+e.Name, "/") {
		return errors.New("kind or name is missing, or has a slash")
	}
	if strings.Contains(e.Plan.ID, " ") {
		return errors.New("the id of its plan has a space")
	}
	if len(e.Past) > maxPast {
		return fmt.Errorf("past has more than %d states", maxPast)
	}
	err := errors.Join(
		checkWords(longestName, e.Kind, e.Namespace, e.Name, e.UID, e.Phase, e.Reason, e.App, e.Plan.ID),
		checkWords(longestText, e.Revision, e.Attempted, e.Origin, e.AttemptedOrigin),
		checkWords(longestMessage, e.Message),
	)
	if e.Source != nil {
		err = errors.Join(err, checkWords(4*longestText, e.Source.URL), checkWords(longestText, e.Source.Ref, e.Source.Path))
	}
	for _, p := range e.Past {
		err = errors.Join(err, checkWords(longestText, p.Revision))
	}
	return err
}

func checkWords(longest int, words ...string) error {
	for _, word := range words {
		switch {
		case len(word) > longest:
			return fmt.Errorf("a word has %d bytes, and should have at most %d", len(word), longest)
		case strings.ContainsFunc(word, unicode.IsControl):
			return errors.New("a word has a control character")
		}
	}
	return nil
}
