package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"github.com/fairlead-io/fairlead/internal/config"
)

// Forge is the forge where people sign in. They write with their own tokens.
type Forge struct {
	// Kind is "github", "gitlab" or "gitea"; Server and API are URLs.
	Kind, Server, API string
	ClientID          string
	ClientSecret      config.SecretRef
	Scopes            []string
}

type forgeKind struct {
	authorize, token string // paths on the server
	scopes           []string
	read             func(ctx context.Context, c forgeClient) (forgePerson, error)
}

type forgePerson struct {
	id           int64
	login, name  string
	email        string // "" if unverified
	groups       []string
	groupsFailed error // why some groups are unknown
}

var forgeKinds = map[string]forgeKind{
	"github": {"/login/oauth/authorize", "/login/oauth/access_token", []string{"repo", "read:org", "user:email"}, readGitHub},
	"gitlab": {"/oauth/authorize", "/oauth/token", []string{"api"}, readGitLab},
	"gitea":  {"/login/oauth/authorize", "/login/oauth/access_token", []string{"read:user", "read:organization", "write:repository"}, readGitea},
}

// CanSignIn reports whether people can sign in at a kind of forge.
func CanSignIn(kind string) bool {
	_, ok := forgeKinds[kind]
	return ok
}

func (k *Keeper) forgeFlow() (*oauth2.Config, error) {
	f := k.options.Forge
	secret, err := f.ClientSecret.Read()
	if err != nil {
		return nil, fmt.Errorf("read the secret of the client: %w", err)
	}
	kind := forgeKinds[f.Kind]
	scopes := f.Scopes
	if scopes == nil {
		scopes = kind.scopes
	}
	return &oauth2.Config{
		ClientID: f.ClientID, ClientSecret: secret.Reveal(), Scopes: scopes, RedirectURL: k.callbackURL(),
		Endpoint: oauth2.Endpoint{AuthURL: f.Server + kind.authorize, TokenURL: f.Server + kind.token, AuthStyle: oauth2.AuthStyleInParams},
	}, nil
}

func (k *Keeper) exchangeForge(ctx context.Context, code string, pending pendingSignIn) (Person, error) {
	flow, err := k.forgeFlow()
	if err != nil {
		return Person{}, err
	}
	token, err := k.exchangeCode(ctx, flow, code, pending, "forge")
	if err != nil {
		return Person{}, err
	}
	who, err := k.readForgePerson(ctx, token.AccessToken)
	who.Token, who.TokenEnds = config.NewSecret(token.AccessToken), token.Expiry
	return who, err
}

func (k *Keeper) readForgePerson(ctx context.Context, token string) (Person, error) {
	f := k.options.Forge
	c := forgeClient{client: k.client, api: strings.TrimSuffix(f.API, "/"), token: token}
	p, err := forgeKinds[f.Kind].read(ctx, c)
	switch {
	case errors.Is(err, errTokenRefused):
		return Person{}, &refusal{"the forge does not take the token"}
	case err != nil:
		return Person{}, fmt.Errorf("ask the forge who somebody is: %w", err)
	case p.id <= 0:
		return Person{}, &refusal{"the forge does not say who you are"}
	}
	if p.groupsFailed != nil {
		k.options.Logger.WarnContext(ctx, "the forge does not tell all groups of a person who signs in", slog.String("login", cleanName(p.login)), slog.Any("error", p.groupsFailed))
	}
	who := k.newPerson(f.Server, strconv.FormatInt(p.id, 10), []string{p.name, p.login}, p.email, p.groups)
	who.Login = cleanName(p.login)
	return who, nil
}

type forgeClient struct {
	client     *http.Client
	api, token string
}

var (
	errTokenRefused = errors.New("the token is refused")
	errNotTold      = errors.New("the token does not permit the question")
)

const maxForgeAnswer = 4 << 20

func (c forgeClient) get(ctx context.Context, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.api+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Accept", "application/json")
	a, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	switch a.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(io.LimitReader(a.Body, maxForgeAnswer)).Decode(into)
	case http.StatusUnauthorized:
		return errTokenRefused
	case http.StatusForbidden, http.StatusNotFound:
		return fmt.Errorf("%s: %w", path, errNotTold)
	default:
		return fmt.Errorf("%s: %s", path, a.Status)
	}
}

const (
	forgePage     = 50
	maxForgePages = 20
)

func listForge[T any](ctx context.Context, c forgeClient, path, size string, query url.Values) ([]T, error) {
	var all []T
	for page := 1; page <= maxForgePages; page++ {
		values := url.Values{"page": {strconv.Itoa(page)}, size: {strconv.Itoa(forgePage)}}
		for key, value := range query {
			values[key] = value
		}
		var some []T
		err := c.get(ctx, path+"?"+values.Encode(), &some)
		if err != nil {
			return all, err
		}
		all = append(all, some...)
		if len(some) < forgePage {
			break
		}
	}
	return all, nil
}

// addGroups ignores groups that the token may not read: they do not count.
func (p *forgePerson) addGroups(names []string, err error) error {
	p.groups = append(p.groups, names...)
	if errors.Is(err, errNotTold) {
		p.groupsFailed = errors.Join(p.groupsFailed, err)
		return nil
	}
	return err
}

type forgeTeam struct {
	Name         string
	Slug         string
	Organization struct{ Login, Username, Name string }
}

type forgeOrganization struct{ Login, Username, Name string }

type forgeEmail struct {
	Email             string
	Primary, Verified bool
}

func findVerified(all []forgeEmail) string {
	for _, e := range all {
		if e.Primary && e.Verified {
			return e.Email
		}
	}
	return ""
}
