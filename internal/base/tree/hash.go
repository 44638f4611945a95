package tree

import (
	"crypto/sha1"
	"hash"
	"strconv"
	"sync"

	"github.com/pjbgf/sha1cd"
)

// Like Git, ids use SHA-1 with collision detection: a team could otherwise supply two contents with
// one id.
var hashers = sync.Pool{New: func() any { return &hasher{h: sha1cd.New()} }}

type hasher struct {
	h       hash.Hash
	buf     []byte
	encoded []byte
}

func (h *hasher) hashObject(kind string, data []byte) (id ID) {
	h.buf = append(h.buf[:0], kind...)
	h.buf = append(h.buf, ' ')
	h.buf = strconv.AppendInt(h.buf, int64(len(data)), 10)
	h.buf = append(h.buf, 0)
	h.h.Reset()
	h.h.Write(h.buf)
	h.h.Write(data)
	h.buf = h.h.Sum(h.buf[:0])
	copy(id[:], h.buf)
	return id
}

// HashBlob returns the Git id of a file's content.
func HashBlob(data []byte) ID {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	return h.hashObject("blob", data)
}

// HashTree returns the Git id of a tree. entries must be in Git's order, without empty trees; only
// names, modes and ids count.
func HashTree(entries []Entry) ID {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	h.encoded = AppendTree(h.encoded[:0], entries)
	return h.hashObject("tree", h.encoded)
}

// HashCommit returns the Git id of a commit's text.
func HashCommit(text []byte) ID {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	return h.hashObject("commit", text)
}

// plainHashers do not detect collisions, which would take four times as long.
var plainHashers = sync.Pool{New: func() any { return &hasher{h: sha1.New()} }}

// HashText returns the Git id of a tree object that Fairlead made. Names are from Kubernetes and
// ids have collision detection, so an attacker cannot choose the bits of a collision.
func HashText(text []byte) ID {
	h := plainHashers.Get().(*hasher)
	defer plainHashers.Put(h)
	return h.hashObject("tree", text)
}
