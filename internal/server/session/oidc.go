package session

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

const signInFor = 10 * time.Minute

// CallbackPath is the path for the issuer's answer.
const CallbackPath = "/sign-in/callback"

// pendingSignIn is in a cookie, so that no other browser can use the answer.
type pendingSignIn struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Return   string    `json:"return"`
	Ends     time.Time `json:"ends"`
}

func (k *Keeper) provider(ctx context.Context, issuer string) (*oidc.Provider, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.issuer != nil {
		return k.issuer, nil
	}
	p, err := oidc.NewProvider(k.withClient(ctx), issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the issuer %s: %w", issuer, err)
	}
	if token := p.Endpoint().TokenURL; token != "" && giturl.IsUnencrypted(token) {
		return nil, fmt.Errorf("ask the issuer %s: its token endpoint is reached without encryption", issuer)
	}
	k.issuer = p
	return p, nil
}

func (k *Keeper) flow(p *oidc.Provider) (*oauth2.Config, error) {
	o := k.options.OIDC
	secret, err := o.ClientSecret.Read()
	if err != nil {
		return nil, fmt.Errorf("read the secret of the client: %w", err)
	}
	return &oauth2.Config{
		ClientID: o.ClientID, ClientSecret: secret.Reveal(), Endpoint: p.Endpoint(), RedirectURL: k.callbackURL(),
		Scopes: append([]string{oidc.ScopeOpenID, "profile", "email"}, o.Scopes...),
	}, nil
}

// Begin returns the address of the sign-in, and sets the cookie that the answer requires. path is
// the page to return to.
func (k *Keeper) Begin(w http.ResponseWriter, r *http.Request, path string) (address string, err error) {
	flow, err := k.openFlow(r.Context())
	if err != nil {
		return "", err
	}
	pending := pendingSignIn{State: newToken(), Nonce: newToken(), Verifier: oauth2.GenerateVerifier(), Return: CleanReturn(path), Ends: k.options.Now().Add(signInFor)}
	value, err := k.sealer.seal(statePurpose, pending)
	if err != nil {
		return "", err
	}
	http.SetCookie(w, k.cookie(statePurpose, value, signInFor))
	more := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(pending.Verifier)}
	if k.options.OIDC != nil {
		more = append(more, oidc.Nonce(pending.Nonce))
	}
	return flow.AuthCodeURL(pending.State, more...), nil
}

func (k *Keeper) openFlow(ctx context.Context) (*oauth2.Config, error) {
	if k.options.Forge != nil {
		return k.forgeFlow()
	}
	p, err := k.provider(ctx, k.options.OIDC.Issuer)
	if err != nil {
		return nil, err
	}
	return k.flow(p)
}

// Finish completes a sign-in and returns the page to return to.
func (k *Keeper) Finish(w http.ResponseWriter, r *http.Request) (path string, who Person, err error) {
	var pending pendingSignIn
	known := k.readCookie(r, statePurpose, &pending)
	http.SetCookie(w, k.cookie(statePurpose, "", 0)) // an answer is valid once
	query := r.URL.Query()
	switch {
	case !known:
		return "", who, &refusal{"this browser did not begin to sign in, or has done so already"}
	case !k.options.Now().Before(pending.Ends):
		return "", who, &refusal{"signing in took too long"}
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(pending.State)) != 1:
		return "", who, &refusal{"the answer of the issuer is for another sign-in"}
	case query.Get("error") != "":
		return "", who, &refusal{"the issuer refuses: " + cleanName(query.Get("error")+" "+query.Get("error_description"))}
	case k.options.OIDC != nil && query.Get("iss") != "" && query.Get("iss") != k.options.OIDC.Issuer:
		return "", who, &refusal{"the answer is of another issuer"}
	}
	exchange := k.exchange
	if k.options.Forge != nil {
		exchange = k.exchangeForge
	}
	who, err = exchange(r.Context(), query.Get("code"), pending)
	if err == nil {
		err = k.begin(w, who)
	}
	return pending.Return, who, err
}

func (k *Keeper) exchangeCode(ctx context.Context, flow *oauth2.Config, code string, pending pendingSignIn, at string) (*oauth2.Token, error) {
	token, err := flow.Exchange(k.withClient(ctx), code, oauth2.VerifierOption(pending.Verifier))
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return nil, &refusal{"the " + at + " refuses: " + cleanName(refused.ErrorCode+" "+refused.ErrorDescription)}
	}
	if err != nil {
		return nil, fmt.Errorf("ask the %s for a token: %w", at, err)
	}
	return token, nil
}

func (k *Keeper) exchange(ctx context.Context, code string, pending pendingSignIn) (Person, error) {
	p, err := k.provider(ctx, k.options.OIDC.Issuer)
	if err != nil {
		return Person{}, err
	}
	flow, err := k.flow(p)
	if err != nil {
		return Person{}, err
	}
	token, err := k.exchangeCode(ctx, flow, code, pending, "issuer")
	if err != nil {
		return Person{}, err
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := p.Verifier(k.verifierConfig(k.options.OIDC.ClientID)).Verify(k.withClient(ctx), raw)
	if err != nil {
		return Person{}, &refusal{"the token of the issuer is refused: " + cleanName(err.Error())}
	}
	if reason := k.checkToken(id, k.options.OIDC.ClientID); reason != "" {
		return Person{}, &refusal{"the token of the issuer is refused: " + reason}
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(pending.Nonce)) != 1 {
		return Person{}, &refusal{"the token of the issuer is for another sign-in"}
	}
	return k.readClaims(id, k.options.OIDC.Groups, k.options.OIDC.TrustEmail)
}

func (k *Keeper) verifierConfig(audience string) *oidc.Config {
	return &oidc.Config{ClientID: audience, Now: k.options.Now}
}

// maxSkew is how far the issuer's clock may be ahead.
const maxSkew = time.Minute

// checkToken returns why a verified ID token is for another client or from the future, or "".
// client is "" for a proxy, whose tokens have other clients.
func (k *Keeper) checkToken(id *oidc.IDToken, client string) string {
	var claims struct {
		IssuedAt *json.Number `json:"iat"`
		Party    *string      `json:"azp"`
	}
	err := id.Claims(&claims)
	switch {
	case err != nil || claims.IssuedAt == nil:
		return "it does not say when it was issued"
	case id.IssuedAt.After(k.options.Now().Add(maxSkew)):
		return "it was issued in the future"
	case client == "":
		return ""
	case claims.Party != nil && *claims.Party != client, claims.Party == nil && len(id.Audience) > 1:
		return "it was issued to another client"
	}
	return ""
}

func (k *Keeper) readToken(ctx context.Context, raw string) (*Person, error) {
	p, err := k.provider(ctx, k.options.OIDC.Issuer)
	if err != nil {
		return nil, err
	}
	id, err := p.Verifier(k.verifierConfig(k.options.OIDC.ClientID)).Verify(k.withClient(ctx), raw)
	if err != nil {
		return nil, &refusal{"the bearer token is refused: " + cleanName(err.Error())}
	}
	if reason := k.checkToken(id, k.options.OIDC.ClientID); reason != "" {
		return nil, &refusal{"the bearer token is refused: " + reason}
	}
	who, err := k.readClaims(id, k.options.OIDC.Groups, k.options.OIDC.TrustEmail)
	return &who, err
}

func (k *Keeper) readClaims(id *oidc.IDToken, groupsClaim string, trustEmail bool) (Person, error) {
	var claims struct {
		Name     string `json:"name"`
		Login    string `json:"preferred_username"`
		Email    string `json:"email"`
		Verified any    `json:"email_verified"`
	}
	var all map[string]any
	err := errors.Join(id.Claims(&claims), id.Claims(&all))
	if err != nil || id.Subject == "" || len(id.Subject) > 255 || strings.ContainsFunc(id.Subject, unicode.IsControl) {
		return Person{}, &refusal{"the token of the issuer does not say who you are"}
	}
	aliases := []string{claims.Login}
	if !trustEmail && claims.Verified != true && claims.Verified != "true" {
		aliases = append(aliases, claims.Email)
		claims.Email = ""
	}
	var groups []string
	switch list := all[groupsClaim].(type) {
	case string:
		groups = []string{list}
	case []any:
		for _, one := range list {
			name, ok := one.(string)
			if ok {
				groups = append(groups, name)
			}
		}
	}
	p := k.newPerson(id.Issuer, id.Subject, []string{claims.Name, claims.Login}, claims.Email, groups)
	p.addAliases(aliases)
	return p, nil
}

// newPerson returns a person with a name and address that are valid in commits. It uses the first
// valid name.
func (k *Keeper) newPerson(issuer, subject string, names []string, email string, groups []string) Person {
	p := Person{Issuer: issuer, Subject: subject, Groups: k.options.FilterGroups(groups)}
	if isAddress(email) {
		p.Email = email
	} else {
		host := "localhost"
		if u, err := url.Parse(k.options.URL); err == nil {
			host = u.Hostname()
		}
		p.Email = gate.PlaceholderAddress(p.Actor(), host)
	}
	for _, name := range append(slices.Clone(names), subject) {
		p.Name = cleanName(name)
		if p.Name != "" {
			break
		}
	}
	if p.Name == "" {
		p.Name = p.Email
	}
	return p
}

func (p *Person) addAliases(names []string) {
	for _, name := range names {
		name = cleanName(name)
		if name != "" && name != p.Email && name != p.Login && !slices.Contains(p.Aliases, name) {
			p.Aliases = append(p.Aliases, name)
		}
	}
}

// maxName is in characters.
const maxName = 100

func cleanName(name string) string {
	kept := strings.Map(func(c rune) rune {
		switch {
		case c == '<' || c == '>' || unicode.Is(unicode.Cf, c) || c == unicode.ReplacementChar:
			return -1
		case unicode.IsSpace(c) || unicode.IsControl(c):
			return ' '
		}
		return c
	}, strings.ToValidUTF8(name, ""))
	return text.Limit(strings.Trim(strings.Join(strings.Fields(kept), " "), ".,:;\"' "), maxName)
}

// isAddress accepts e-mail addresses that Git accepts.
func isAddress(address string) bool {
	local, host, ok := strings.Cut(address, "@")
	strange := func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`<>()[]\,;:"@`, c)
	}
	return ok && local != "" && host != "" && len(address) <= 254 && !strings.ContainsFunc(local+host, strange)
}
