package tree

import (
	"crypto/sha1"
	"hash"
	"strconv"
	"sync"

	"github.com/pjbgf/sha1cd"
)

// Git ids are SHA-1 with collision detection, as Git itself does: content that a
// team supplies could otherwise give two contents one id.
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

// HashTree returns the Git id of the tree with these entries, which must be in
// Git's order and not empty trees; only their names, modes and ids count.
func HashTree(entries []Entry) ID {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	h.encoded = AppendTree(h.encoded[:0], entries)
	return h.hashObject("tree", h.encoded)
}

// HashCommit returns the Git id of the text of a commit.
func HashCommit(text []byte) ID {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	return h.hashObject("commit", text)
}

// plainHashers hashers do not look for collisions, which takes four times as long.
var plainHashers = sync.Pool{New: func() any { return &hasher{h: sha1.New()} }}

// HashText returns the Git id of the content of a tree object that Fairlead made. Its names are
// those of Kubernetes objects and its ids were made with collision detection: an attacker cannot
// choose the bits that a collision takes, so it is not looked for again.
func HashText(text []byte) ID {
	h := plainHashers.Get().(*hasher)
	defer plainHashers.Put(h)
	return h.hashObject("tree", text)
}
