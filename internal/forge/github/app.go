package github

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// AppOptions identify an installation of a GitHub App.
type AppOptions struct {
	ID           string
	Installation int64
	Key          []byte
	API          string
	Client       *http.Client
	Now          func() time.Time
}

// String hides the key.
func (o AppOptions) String() string { return "GitHub App " + o.ID + " [redacted]" }

// GoString hides the key from %#v.
func (o AppOptions) GoString() string { return o.String() }

// App returns tokens of an installation of a GitHub App. It is safe for concurrent use and requests
// one token at a time.
type App struct {
	id           string
	installation int64
	key          *rsa.PrivateKey
	client       *gh.Client
	now          func() time.Time

	lock    chan struct{}
	token   string
	expires time.Time
}

const (
	appSkew     = time.Minute     // allowed lag of GitHub's clock
	appLifetime = 9 * time.Minute // GitHub's maximum is ten minutes
	tokenMargin = 5 * time.Minute // remaining lifetime below which a token is renewed
)

// NewApp makes an App and requests nothing yet.
func NewApp(o AppOptions) (*App, error) {
	if o.ID == "" || o.Installation <= 0 || o.Now == nil {
		return nil, errors.New("a GitHub App needs its id, the id of its installation, and a clock")
	}
	key, err := appKey(o.Key)
	if err != nil {
		return nil, fmt.Errorf("the key of GitHub App %s: %w", o.ID, err)
	}
	a := &App{id: o.ID, installation: o.Installation, key: key, now: o.Now, lock: make(chan struct{}, 1)}
	_, a.client, err = newClient(forge.Options{API: o.API, Client: o.Client, Token: a.signAppToken, Now: o.Now})
	return a, err
}

func appKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, &problem.Refusal{Operation: "read it", Reason: "it is not a key in PEM",
			Advice: "give the file that GitHub made when the key was generated; it begins with -----BEGIN RSA PRIVATE KEY-----"}
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if private, ok := key.(*rsa.PrivateKey); err == nil && ok {
		return private, nil
	}
	return nil, &problem.Refusal{Operation: "read it", Reason: "it is not a private RSA key", Advice: "generate one in the settings of the App"}
}

// String hides the token.
func (a *App) String() string {
	return fmt.Sprintf("installation %d of GitHub App %s", a.installation, a.id)
}

// GoString hides the token from %#v.
func (a *App) GoString() string { return a.String() }

// Token returns a token that is valid for at least some minutes.
func (a *App) Token(ctx context.Context) (string, error) {
	select {
	case a.lock <- struct{}{}:
		defer func() { <-a.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if a.token != "" && a.now().Before(a.expires.Add(-tokenMargin)) {
		return a.token, nil
	}
	made, _, err := a.client.Apps.CreateInstallationToken(ctx, a.installation, &gh.InstallationTokenOptions{})
	if err != nil {
		return "", explainError("get a token for "+a.String(), err)
	}
	if made.GetToken() == "" {
		return "", fmt.Errorf("get a token for %s: the answer has none", a)
	}
	a.token, a.expires = made.GetToken(), made.GetExpiresAt().Time
	return a.token, nil
}

func (a *App) signAppToken(context.Context) (string, error) {
	now := a.now()
	claims, err := json.Marshal(struct {
		Issued  int64  `json:"iat"`
		Expires int64  `json:"exp"`
		Issuer  string `json:"iss"`
	}{now.Add(-appSkew).Unix(), now.Add(appLifetime).Unix(), a.id})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, a.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return text + "." + encode(signature), nil
}
