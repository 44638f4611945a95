// Package session identifies people at the page, by a sealed cookie or by a trusted proxy.
//
// What the package keeps true: the server stores only signed-out sessions, so a restart signs
// nobody out or in. A cookie that was changed, has ended or has another purpose is ignored. Proxy
// headers count only from the proxy's addresses. An answer that was not requested, is for others,
// or is repeated identifies nobody.
package session

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
)

// Person is someone who signed in.
type Person struct {
	// Issuer and Subject identify the person; the subject is unique at the issuer.
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	// Name and Email are the author of the person's commits.
	Name   string   `json:"name"`
	Email  string   `json:"email"`
	Groups []string `json:"groups,omitempty"`
	// Login is the person's name at the forge; "" without a sign-in there.
	Login string `json:"login,omitempty"`
	// Aliases are an unverified login and address that the person may have elsewhere.
	Aliases []string `json:"aliases,omitempty"`
	// Token is the person's token of the forge, until TokenEnds; "" without a sign-in there. A zero
	// TokenEnds means no known end.
	Token     config.Secret `json:"-"`
	TokenEnds time.Time     `json:"-"`
}

type personKey struct{}

// WithPerson returns a context for acting on behalf of a person.
func WithPerson(ctx context.Context, who *Person) context.Context {
	return context.WithValue(ctx, personKey{}, who)
}

// FindPerson returns the person of a context; nil for nobody.
func FindPerson(ctx context.Context) *Person {
	who, _ := ctx.Value(personKey{}).(*Person)
	return who
}

// Signature returns the author of the person's commits.
func (p Person) Signature() git.Signature { return git.Signature{Name: p.Name, Email: p.Email} }

// Actor identifies the person in trailers and logs.
func (p Person) Actor() string { return p.Issuer + "#" + p.Subject }

// A text sealed for one purpose cannot be opened for another.
const (
	sessionPurpose = "session"
	statePurpose   = "sign-in"
)

// maxCookie bounds a cookie's value: browsers accept 4,096 bytes with its name.
const maxCookie = 3800

var errTooLong = errors.New("the session is too long for a cookie: the roles in the settings name too many groups of this person")

type sealer struct {
	// keys returns the secrets, newest first: the first one seals, and all open.
	keys func() ([]string, error)
}

func newAEAD(secret, purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "fairlead page "+purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (s sealer) seal(purpose string, v any) (string, error) {
	keys, err := s.keys()
	if err != nil || len(keys) == 0 {
		return "", errors.Join(errors.New("there is no key for sessions"), err)
	}
	aead, err := newAEAD(keys[0], purpose)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, data, []byte(purpose)))
	if len(text) > maxCookie {
		return "", errTooLong
	}
	return text, nil
}

func (s sealer) open(purpose, text string, into any) bool {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxCookie {
		return false
	}
	keys, _ := s.keys()
	return slices.ContainsFunc(keys, func(key string) bool {
		aead, err := newAEAD(key, purpose)
		if err != nil {
			return false
		}
		plain, err := aead.Open(nil, nil, data, []byte(purpose))
		return err == nil && json.Unmarshal(plain, into) == nil
	})
}

type sealedSession struct {
	Person Person `json:"person"`
	// ID is "" in sessions of older versions.
	ID    string    `json:"id,omitempty"`
	Began time.Time `json:"began"`
	Used  time.Time `json:"used"`
	// Token is the person's forge token. It is stored nowhere else.
	Token     string    `json:"token,omitempty"`
	TokenEnds time.Time `json:"tokenEnds,omitzero"`
}

// mark identifies a session without revealing the person.
func (s sealedSession) mark() string {
	sum := sha256.Sum256([]byte(s.ID + "\x00" + s.Person.Actor() + "\x00" + s.Began.UTC().Format(time.RFC3339)))
	return hex.EncodeToString(sum[:16])
}

// renewAfter is the fraction of Idle after which a used session gets a new cookie.
const renewAfter = 10

// cookie is not readable by scripts; value "" deletes it.
func (k *Keeper) cookie(purpose, value string, life time.Duration) *http.Cookie {
	c := &http.Cookie{Name: k.cookieName(purpose), Value: value, Path: "/", HttpOnly: true, Secure: k.isSecure(), SameSite: http.SameSiteLaxMode, MaxAge: int(life.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// cookieName has a prefix that makes browsers reject cookies from other hosts or without TLS.
func (k *Keeper) cookieName(purpose string) string {
	if k.isSecure() {
		return "__Host-fairlead-" + purpose
	}
	return "fairlead-" + purpose
}

// isSecure is false only for a page on this machine.
func (k *Keeper) isSecure() bool { return strings.HasPrefix(k.options.URL, "https://") }

// readCookie rejects several cookies of one name: one of them is foreign.
func (k *Keeper) readCookie(r *http.Request, purpose string, into any) bool {
	found := r.CookiesNamed(k.cookieName(purpose))
	return len(found) == 1 && k.sealer.open(purpose, found[0].Value, into)
}

func (k *Keeper) begin(w http.ResponseWriter, p Person) error {
	now := k.options.Now().UTC().Truncate(time.Second)
	return k.writeSession(w, sealedSession{Person: p, ID: newToken(), Began: now, Used: now, Token: p.Token.Reveal(), TokenEnds: p.TokenEnds})
}

func (k *Keeper) writeSession(w http.ResponseWriter, s sealedSession) error {
	value, err := k.sealer.seal(sessionPurpose, s)
	if err != nil {
		return fmt.Errorf("seal the session: %w", err)
	}
	http.SetCookie(w, k.cookie(sessionPurpose, value, s.Began.Add(k.options.Life).Sub(k.options.Now())))
	return nil
}

// readSession returns nil without a valid session. It renews an aging cookie, unless w is nil.
func (k *Keeper) readSession(w http.ResponseWriter, r *http.Request) *Person {
	var s sealedSession
	if !k.readCookie(r, sessionPurpose, &s) {
		return nil
	}
	now := k.options.Now()
	idle := now.Sub(s.Used)
	if !s.TokenEnds.IsZero() && !now.Before(s.TokenEnds) { // the person's writes would fail
		return nil
	}
	if s.Person.Issuer != k.issuerName() || s.Person.Subject == "" || idle >= k.options.Idle || now.Sub(s.Began) >= k.options.Life || idle < -time.Minute {
		return nil
	}
	if w != nil && idle >= k.options.Idle/renewAfter {
		s.Used = now.UTC().Truncate(time.Second)
		_ = k.writeSession(w, s)
	}
	if k.ended.has(s.mark()) {
		return nil
	}
	p := s.Person
	p.Token, p.TokenEnds = config.NewSecret(s.Token), s.TokenEnds
	p.Groups = k.options.FilterGroups(p.Groups) // roles may have changed
	return &p
}

func newToken() string { return rand.Text() }
