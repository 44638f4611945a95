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

// Forge is the forge that people sign in at. What they write is written with their own token.
type Forge struct {
	// Kind is "github", "gitlab" or "gitea", Server the address of its pages, and API that of its API as the
	// settings have it.
	Kind, Server, API string
	ClientID          string
	ClientSecret      config.SecretRef
	// Scopes are asked for; nil for those that the kind of forge needs.
	Scopes []string
}

// forgeKind is what kinds of forges have differently.
type forgeKind struct {
	authorize, token string // paths on the server
	scopes           []string
	read             func(ctx context.Context, c forgeClient) (forgePerson, error)
}

// forgePerson is somebody as a forge knows them.
type forgePerson struct {
	id           int64
	login, name  string
	email        string // "" if the forge does not vouch for one
	groups       []string
	groupsFailed error // why some groups are not known; nil if all are
}

// forgeKinds are the kinds with people.
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

// forgeFlow returns the authorization code flow at the forge.
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

// exchangeForge asks the forge for a token, and for the person whose it is.
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

// readForgePerson returns the person whose token it is.
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

// forgeClient asks the API of a forge with the token of a person.
type forgeClient struct {
	client     *http.Client
	api, token string
}

// Errors of requests to a forge.
var (
	errTokenRefused = errors.New("the token is refused")
	errNotTold      = errors.New("the token does not permit the question")
)

// maxForgeAnswer bounds the answer of a forge.
const maxForgeAnswer = 4 << 20

// get asks for JSON.
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

// Lists of groups are read in pages.
const (
	forgePage     = 50
	maxForgePages = 20
)

// listForge returns all elements of a list.
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

// addGroups adds groups of a person. What the token does not permit to ask is no error: then these groups do
// not count.
func (p *forgePerson) addGroups(names []string, err error) error {
	p.groups = append(p.groups, names...)
	if errors.Is(err, errNotTold) {
		p.groupsFailed = errors.Join(p.groupsFailed, err)
		return nil
	}
	return err
}

// forgeTeam is a team of GitHub or Gitea.
type forgeTeam struct {
	Name         string
	Slug         string // of GitHub
	Organization struct{ Login, Username, Name string }
}

// forgeOrganization is an organization of GitHub or Gitea.
type forgeOrganization struct{ Login, Username, Name string }

// forgeEmail is an address of somebody.
type forgeEmail struct {
	Email             string
	Primary, Verified bool
}

// findVerified returns the primary address if the forge has verified it; "" for none.
func findVerified(all []forgeEmail) string {
	for _, e := range all {
		if e.Primary && e.Verified {
			return e.Email
		}
	}
	return ""
}
