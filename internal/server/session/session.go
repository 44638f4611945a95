// Package session knows who somebody is that reaches the page: by a cookie that only Fairlead can have
// made, or by what a trusted proxy sends.
//
// What the package keeps true: of sessions, the server stores only which ones people have ended, so that a restart
// signs nobody out, and nobody in; a cookie that was changed, that has ended, or that is one of another purpose is none;
// a header of a proxy counts from the addresses of the proxy alone; and no one is taken to be somebody by
// an answer that was not asked for, is for others, or comes a second time.
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

// Person is somebody who signed in.
type Person struct {
	// Issuer and Subject identify the person: the subject is unique at the issuer.
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	// Name and Email are the author of the person's commits.
	Name  string `json:"name"`
	Email string `json:"email"`
	// Groups are those that roles name.
	Groups []string `json:"groups,omitempty"`
	// Login is the person's name at the forge; "" for who did not sign in there.
	Login string `json:"login,omitempty"`
	// Aliases are a login and an address that the person may have elsewhere, and that nobody vouches for.
	Aliases []string `json:"aliases,omitempty"`
	// Token is the person's own token of the forge, until TokenEnds; "" for who did not sign in there, and a
	// zero time for no known end.
	Token     config.Secret `json:"-"`
	TokenEnds time.Time     `json:"-"`
}

// personKey is the key of a person in a context.
type personKey struct{}

// WithPerson returns a context in which something is done on behalf of a person.
func WithPerson(ctx context.Context, who *Person) context.Context {
	return context.WithValue(ctx, personKey{}, who)
}

// FindPerson returns the person on whose behalf something is done; nil for nobody.
func FindPerson(ctx context.Context) *Person {
	who, _ := ctx.Value(personKey{}).(*Person)
	return who
}

// Signature returns the author of the person's commits.
func (p Person) Signature() git.Signature { return git.Signature{Name: p.Name, Email: p.Email} }

// Actor identifies the person in trailers and in the log.
func (p Person) Actor() string { return p.Issuer + "#" + p.Subject }

// Purposes of sealed texts. One that was sealed for another purpose cannot be opened.
const (
	sessionPurpose = "session"
	statePurpose   = "sign-in"
)

// maxCookie is how long the value of a cookie may be: browsers take 4,096 bytes with its name.
const maxCookie = 3800

// errTooLong means that a person has more groups than a cookie takes.
var errTooLong = errors.New("the session is too long for a cookie: the roles in the settings name too many groups of this person")

// sealer seals and opens texts with AES-256-GCM. It is safe for several goroutines.
type sealer struct {
	// keys returns the secrets, the newest first: the first one seals, and all open.
	keys func() ([]string, error)
}

// newAEAD derives the cipher of a purpose from a secret.
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

// seal returns a value as a text that only a holder of the key can read or make.
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

// open reads what seal has written, and reports whether it could be.
func (s sealer) open(purpose, text string, into any) bool {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxCookie {
		return false
	}
	keys, _ := s.keys() // without a key nothing can be opened
	return slices.ContainsFunc(keys, func(key string) bool {
		aead, err := newAEAD(key, purpose)
		if err != nil {
			return false
		}
		plain, err := aead.Open(nil, nil, data, []byte(purpose))
		return err == nil && json.Unmarshal(plain, into) == nil
	})
}

// sealedSession is what the cookie of a person holds.
type sealedSession struct {
	Person Person `json:"person"`
	// ID tells the session from others; "" in those of older versions.
	ID    string    `json:"id,omitempty"`
	Began time.Time `json:"began"`
	Used  time.Time `json:"used"`
	// Token is the person's own token of the forge; it is nowhere else.
	Token     string    `json:"token,omitempty"`
	TokenEnds time.Time `json:"tokenEnds,omitzero"`
}

// mark identifies a session, and does not tell whose it is.
func (s sealedSession) mark() string {
	sum := sha256.Sum256([]byte(s.ID + "\x00" + s.Person.Actor() + "\x00" + s.Began.UTC().Format(time.RFC3339)))
	return hex.EncodeToString(sum[:16])
}

// renewAfter is the part of the idle time after which a session that is used gets another cookie.
const renewAfter = 10

// cookie returns a cookie of this site that no script can read; value "" ends it.
func (k *Keeper) cookie(purpose, value string, life time.Duration) *http.Cookie {
	c := &http.Cookie{Name: k.cookieName(purpose), Value: value, Path: "/", HttpOnly: true, Secure: k.isSecure(), SameSite: http.SameSiteLaxMode, MaxAge: int(life.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// cookieName returns the name of a cookie. The prefix has browsers refuse one that another host, or a page
// without encryption, has set.
func (k *Keeper) cookieName(purpose string) string {
	if k.isSecure() {
		return "__Host-fairlead-" + purpose
	}
	return "fairlead-" + purpose
}

// isSecure reports whether the page is reached with encryption. Without it, it is on this machine.
func (k *Keeper) isSecure() bool { return strings.HasPrefix(k.options.URL, "https://") }

// readCookie opens a cookie of a request, and reports whether it could be. Of several with one name none
// counts: one of them is somebody else's.
func (k *Keeper) readCookie(r *http.Request, purpose string, into any) bool {
	found := r.CookiesNamed(k.cookieName(purpose))
	return len(found) == 1 && k.sealer.open(purpose, found[0].Value, into)
}

// begin sets the cookie of a person who signed in.
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

// readSession returns the person of a request's cookie; nil if there is none that counts. Where w is not
// nil, a session that is used gets a cookie that says so.
func (k *Keeper) readSession(w http.ResponseWriter, r *http.Request) *Person {
	var s sealedSession
	if !k.readCookie(r, sessionPurpose, &s) {
		return nil
	}
	now := k.options.Now()
	idle := now.Sub(s.Used)
	if !s.TokenEnds.IsZero() && !now.Before(s.TokenEnds) { // what the person writes would be refused
		return nil
	}
	if s.Person.Issuer != k.issuerName() || s.Person.Subject == "" || idle >= k.options.Idle || now.Sub(s.Began) >= k.options.Life || idle < -time.Minute {
		return nil
	}
	if w != nil && idle >= k.options.Idle/renewAfter {
		s.Used = now.UTC().Truncate(time.Second)
		_ = k.writeSession(w, s) // the session goes on with the cookie that it has
	}
	if k.ended.has(s.mark()) {
		return nil
	}
	p := s.Person
	p.Token, p.TokenEnds = config.NewSecret(s.Token), s.TokenEnds
	p.Groups = k.options.FilterGroups(p.Groups) // those that roles name now
	return &p
}

// newToken returns a random text.
func newToken() string { return rand.Text() }
