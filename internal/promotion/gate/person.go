package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Person identifies an approver or author. It distinguishes people, but never grants permission:
// anyone can write an address into a commit.
type Person struct {
	// Actor is the issuer and subject of a sign-in at the page, or "".
	Actor string
	Login string
	Keys  []string
	// Names are addresses and names in the person's commits.
	Names []string
	// Claims are unverified names. They can only show that two people may be one.
	Claims []string
}

// Relation is whether two people are one.
type Relation int

// The relations.
const (
	Different Relation = iota
	Uncertain
	Suspect // one claims a name of the other
	Same
)

// Relate returns whether two people are one. All comparisons of people use it.
func (p Person) Relate(q Person) Relation {
	switch {
	case haveCommon(p.marks(), q.marks()):
		return Same
	case haveCommon(normalizeAll(p.Claims), q.identities()), haveCommon(normalizeAll(q.Claims), p.identities()):
		return Suspect
	case p.issuer() != "" && p.issuer() == q.issuer(), p.login() != "" && q.login() != "", len(p.Keys) > 0 && len(q.Keys) > 0:
		return Different
	case p.Actor != "" && len(q.Keys) > 0, q.Actor != "" && len(p.Keys) > 0: // the key may belong to the signed-in person
		return Uncertain
	case p.hasAddress() && q.hasAddress():
		return Different
	}
	return Uncertain
}

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

func (p Person) issuer() string {
	issuer, _, _ := strings.Cut(p.Actor, "#")
	return issuer
}

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

func (p Person) hasAddress() bool {
	return slices.ContainsFunc(p.identities(), func(name string) bool { return strings.Contains(name, "@") })
}

func (p Person) identities() []string {
	names := slices.DeleteFunc(slices.Clone(p.Names), func(name string) bool { return p.Actor != "" && IsPlaceholder(p.Actor, name) })
	return normalizeAll(append(names, p.Login))
}

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

// PlaceholderAddress returns a unique address for a person without one.
func PlaceholderAddress(actor, host string) string {
	return placeholderPrefix(actor) + host
}

// IsPlaceholder reports whether an address is a person's placeholder.
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

// personIdentity returns a name for comparison: in lower case, with the login for made-up addresses
// of GitHub and GitLab.
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

func withoutNumber(local, separator string) string {
	number, login, ok := strings.Cut(local, separator)
	if ok && strings.Trim(number, "0123456789") == "" {
		return login
	}
	return local
}
