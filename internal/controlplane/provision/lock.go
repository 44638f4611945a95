package provision

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// LockFile is the lock in the folder of its manifest.
const LockFile = "lock.yaml"

// LockKind is the kind of a lock.
const LockKind = "ClusterLock"

// ErrEdited marks locks that differ from what Fairlead writes.
var ErrEdited = errors.New("it was edited by hand")

const (
	lockComment = "# Written by Fairlead: what the clusters of this branch are. Do not edit it.\n"
	digestKey   = "digest"
)

// EncodeLock returns the bytes of a state's lock. Equal states have equal bytes.
func EncodeLock(s *State) ([]byte, error) {
	state := encodeValue(reflect.ValueOf(*s))
	body, err := yamldoc.Encode(state)
	if err != nil {
		return nil, fmt.Errorf("encode %s of %s/%s: %w", LockFile, s.Namespace, s.Name, err)
	}
	lock := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	lock.Content = []*yaml.Node{
		encodeText("apiVersion"), encodeText(model.OwnAPIVersion), encodeText("kind"), encodeText(LockKind),
		encodeText(digestKey), encodeText("sha256:" + digestOf(body)), encodeText("state"), state,
	}
	text, err := yamldoc.Encode(lock)
	if err != nil {
		return nil, fmt.Errorf("encode %s of %s/%s: %w", LockFile, s.Namespace, s.Name, err)
	}
	return append([]byte(lockComment), text...), nil
}

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// ParseLock reads exactly what [EncodeLock] writes. If the error wraps [ErrEdited],
// recreate the lock from a verified output.
func ParseLock(text []byte) (State, error) {
	var lock struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Digest     string `yaml:"digest"`
		State      State  `yaml:"state"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&lock); err != nil {
		return State{}, fmt.Errorf("read %s: %w: %s", LockFile, ErrEdited, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	canonical, err := EncodeLock(&lock.State)
	if err != nil {
		return State{}, err
	}
	if !bytes.Equal(canonical, text) {
		return State{}, fmt.Errorf("read %s: %w: line %d is not as Fairlead writes it", LockFile, ErrEdited, findDifference(canonical, text))
	}
	return lock.State, nil
}

// findDifference prefers lines other than the digest, which differs after any edit.
func findDifference(a, b []byte) int {
	left, right := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	digest := 0
	for i := range min(len(left), len(right)) {
		switch {
		case bytes.Equal(left[i], right[i]):
		case bytes.HasPrefix(left[i], []byte(digestKey+":")):
			digest = i + 1
		default:
			return i + 1
		}
	}
	if digest > 0 {
		return digest
	}
	return min(len(left), len(right))
}

func encodeValue(v reflect.Value) *yaml.Node {
	switch v.Kind() {
	case reflect.Pointer:
		return encodeValue(v.Elem())
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for i := range v.NumField() {
			key := v.Type().Field(i).Tag.Get("yaml")
			if field := v.Field(i); key != "-" && !isEmpty(field) {
				n.Content = append(n.Content, encodeText(key), encodeValue(field))
			}
		}
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			n.Content = append(n.Content, encodeValue(v.Index(i)))
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			n.Content = append(n.Content, encodeText(key.String()), encodeValue(v.MapIndex(key)))
		}
		return n
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
	}
	return encodeText(v.String())
}

func encodeText(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		for i := range v.NumField() {
			if !isEmpty(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}
