package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Person identifies somebody who has approved a commit, or has written one. It tells people apart, and never grants
// permission: anybody can write an address into a commit.
type Person struct {
	// Actor is the issuer and the subject of somebody who signed in at the page; "" for others.
	Actor string
	// Login is the login at the forge; "" if it is unknown.
	Login string
	// Keys are the fingerprints of keys that sign for the person.
	Keys []string
	// Names are the addresses and names of the person's commits.
	Names []string
	// Claims are further names that nobody vouches for. They can show that two people may be one, and nothing else.
	Claims []string
}

// Relation is whether two people are one.
type Relation int

// The relations.
const (
	Different Relation = iota
	Uncertain          // nothing connects them, and nothing tells them apart
	Suspect            // one claims a name of the other
	Same
)

// Relate returns whether two people are one. All comparisons of people are made here.
func (p Person) Relate(q Person) Relation {
	switch {
	case haveCommon(p.marks(), q.marks()):
		return Same
	case haveCommon(normalizeAll(p.Claims), q.identities()), haveCommon(normalizeAll(q.Claims), p.identities()):
		return Suspect
	case p.issuer() != "" && p.issuer() == q.issuer(), p.login() != "" && q.login() != "", len(p.Keys) > 0 && len(q.Keys) > 0:
		return Different
	case p.Actor != "" && len(q.Keys) > 0, q.Actor != "" && len(p.Keys) > 0: // the key may be that of who signed in
		return Uncertain
	case p.hasAddress() && q.hasAddress():
		return Different
	}
	return Uncertain
}

// marks returns what no two people have in common.
func (p Person) marks() []string {
	all := p.identities()
	if p.Actor != "" {
		all = append(all, "actor "+p.Actor)
	}
	for _, key := range p.Keys {
		all = append(all, "key "+key)
	}
	return all
}

// issuer returns who says who the person is; "" for nobody.
func (p Person) issuer() string {
	issuer, _, _ := strings.Cut(p.Actor, "#")
	return issuer
}

// login returns the login at the forge; "" if it is unknown.
func (p Person) login() string {
	if p.Login != "" {
		return personIdentity(p.Login)
	}
	for _, name := range p.Names {
		if local := personIdentity(name); strings.Contains(name, "@") && !strings.Contains(local, "@") {
			return local
		}
	}
	return ""
}

// hasAddress reports whether a commit has an address that may be the person's elsewhere too.
func (p Person) hasAddress() bool {
	return slices.ContainsFunc(p.identities(), func(name string) bool { return strings.Contains(name, "@") })
}

// identities returns the names of a person in the form in which they are compared.
func (p Person) identities() []string {
	names := slices.DeleteFunc(slices.Clone(p.Names), func(name string) bool { return p.Actor != "" && IsPlaceholder(p.Actor, name) })
	return normalizeAll(append(names, p.Login))
}

// merge adds what is known of the same person.
func (p Person) merge(q Person) Person {
	if p.Actor == "" {
		p.Actor = q.Actor
	}
	if p.Login == "" {
		p.Login = q.Login
	}
	p.Keys, p.Names, p.Claims = slices.Concat(p.Keys, q.Keys), slices.Concat(p.Names, q.Names), slices.Concat(p.Claims, q.Claims)
	return p
}

// PlaceholderAddress returns an address of nobody else for a person of whom none is known.
func PlaceholderAddress(actor, host string) string {
	return placeholderPrefix(actor) + host
}

// IsPlaceholder reports whether an address was made up for a person.
func IsPlaceholder(actor, address string) bool {
	return strings.HasPrefix(strings.ToLower(address), placeholderPrefix(actor))
}

func placeholderPrefix(actor string) string {
	sum := sha256.Sum256([]byte(actor))
	return hex.EncodeToString(sum[:8]) + "@noreply."
}

func haveCommon(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

func normalizeAll(names []string) []string {
	var all []string
	for _, name := range names {
		one := personIdentity(name)
		if one != "" {
			all = append(all, one)
		}
	}
	return all
}

// personIdentity returns what names of one person have in common: case does not count, and the
// addresses that GitHub and GitLab make up for a login stand for the login.
func personIdentity(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	local, host, _ := strings.Cut(name, "@")
	switch host {
	case "users.noreply.github.com":
		return withoutNumber(local, "+")
	case "users.noreply.gitlab.com":
		return withoutNumber(local, "-")
	default:
		return name
	}
}

// withoutNumber removes the number before a login.
func withoutNumber(local, separator string) string {
	number, login, ok := strings.Cut(local, separator)
	if ok && strings.Trim(number, "0123456789") == "" {
		return login
	}
	return local
}
