package session

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const proxyIssuer = "proxy"

const logIgnoredEvery = time.Minute

func (k *Keeper) readProxy(r *http.Request) (*Person, error) {
	p := k.options.Proxy
	names := []string{p.User, p.Name, p.Email, p.Groups}
	if p.JWT != nil {
		names = []string{p.JWT.Header}
	}
	var values []string
	for _, name := range names {
		all := r.Header.Values(name)
		if len(all) > 1 {
			return nil, &refusal{"the header " + name + " is there twice"}
		}
		values = append(values, strings.TrimSpace(strings.Join(all, "")))
	}
	if values[0] == "" {
		return nil, nil
	}
	if !k.isTrusted(r.RemoteAddr) {
		k.logIgnored(r)
		return nil, nil
	}
	if p.JWT != nil {
		return k.readProxyToken(r.Context(), strings.TrimPrefix(values[0], "Bearer "))
	}
	if cleanName(values[0]) != values[0] { // two people must not become one
		return nil, &refusal{"the header " + p.User + " has a login that cannot be written into a commit"}
	}
	email := values[2]
	if email == "" {
		email = values[0]
	}
	var groups []string
	for group := range strings.SplitSeq(values[3], ",") {
		groups = append(groups, strings.TrimSpace(group))
	}
	who := k.newPerson(proxyIssuer, values[0], []string{values[1]}, email, groups)
	who.addAliases([]string{values[0]})
	return &who, nil
}

func (k *Keeper) isTrusted(remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(k.trusted, func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap()) })
}

func (k *Keeper) logIgnored(r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.options.Now()
	if now.Sub(k.ignoredAt) < logIgnoredEvery {
		return
	}
	k.ignoredAt = now
	k.options.Logger.WarnContext(r.Context(), "a request with a header of the proxy is not from the proxy, and counts as nobody's", slog.String("address", r.RemoteAddr))
}

func (k *Keeper) readProxyToken(ctx context.Context, raw string) (*Person, error) {
	t := k.options.Proxy.JWT
	verifier, err := k.tokenVerifier(ctx)
	if err != nil {
		return nil, err
	}
	id, err := verifier.Verify(k.withClient(ctx), raw)
	if err != nil {
		return nil, &refusal{"the token of the proxy is refused: " + cleanName(err.Error())}
	}
	if reason := k.checkToken(id, ""); reason != "" {
		return nil, &refusal{"the token of the proxy is refused: " + reason}
	}
	who, err := k.readClaims(id, t.Groups, t.TrustEmail)
	return &who, err
}

func (k *Keeper) tokenVerifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	t := k.options.Proxy.JWT
	if t.Keys == "" {
		p, err := k.provider(ctx, t.Issuer)
		if err != nil {
			return nil, err
		}
		return p.Verifier(k.verifierConfig(t.Audience)), nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tokens == nil {
		o := k.verifierConfig(t.Audience)
		o.SupportedSigningAlgs = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.EdDSA}
		k.tokens = oidc.NewVerifier(t.Issuer, oidc.NewRemoteKeySet(k.withClient(ctx), t.Keys), o)
	}
	return k.tokens, nil
}
