package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

// commitAuthor returns the author by flag, GIT_AUTHOR_* or Git's configuration. There
// is no default, because an approval needs a person.
func commitAuthor(ctx context.Context, flag string) (git.Signature, error) {
	if flag != "" {
		return parseSignature(flag)
	}
	who := git.Signature{Name: os.Getenv("GIT_AUTHOR_NAME"), Email: os.Getenv("GIT_AUTHOR_EMAIL")}
	if who.Name == "" {
		who.Name = gitSetting(ctx, "user.name")
	}
	if who.Email == "" {
		who.Email = gitSetting(ctx, "user.email")
	}
	if who.Name == "" || who.Email == "" {
		return who, usageErrorf(`git config --global user.email ADDRESS, and user.name, or --author "Name <address>"`, "it is not known who you are")
	}
	return who, nil
}

func gitSetting(ctx context.Context, key string) string {
	out, err := exec.CommandContext(ctx, "git", "config", "--get", key).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func parseSignature(text string) (git.Signature, error) {
	name, rest, _ := strings.Cut(text, "<")
	address, after, closed := strings.Cut(rest, ">")
	who := git.Signature{Name: strings.TrimSpace(name), Email: strings.TrimSpace(address)}
	if who.Name == "" || who.Email == "" || !closed || strings.TrimSpace(after) != "" || strings.ContainsAny(text, "\n\x00") {
		return who, usageErrorf(`as in --author "Alice <alice@example.com>"`, "--author %s cannot be read", text)
	}
	return who, nil
}

func (cc *commandContext) openForge(remote *git.Remote, place string, who git.Signature) (forge.Forge, error) {
	settings := cc.settings
	if settings == nil {
		settings = readJob().newSettings(place)
	}
	f, err := access.New(settings, cc.now).OpenForge(place, access.Observer{}, func() forge.Forge { return forge.NewPlain(remote, who, cc.now) })
	var unknown *access.UnknownForge
	switch {
	case cc.settings != nil:
	case errors.Is(err, access.ErrNoToken):
		err = problem.WithHint(err, "or set "+tokenVariable+" to a token that may open pull requests there")
	case errors.As(err, &unknown):
		err = problem.WithHint(err, fmt.Sprintf("write fairlead.yaml with controlPlane: {repo: …} and forges: [{host: %s, kind: …}], or name such a file with --config; without --pull-request no forge is needed", unknown.Host))
	}
	if err == nil && cc.app.dryRun {
		f = rehearsedForge{cc.app, f, giturl.Redact(place)}
	}
	return f, err
}

func pullText(p actions.Pull) string { return cmp.Or(p.URL, fmt.Sprint(p.Number)) }

const signPassphraseVariable = "FAIRLEAD_SIGN_PASSPHRASE"

// readSignKey returns the signer of a private key file; nil for no file.
func readSignKey(file string) (git.Signer, error) {
	if file == "" {
		return nil, nil
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of --sign-key: %w", err)
	}
	parse := sign.SSH
	if strings.Contains(string(key), "BEGIN PGP") {
		parse = sign.GPG
	}
	return parse(key, os.Getenv(signPassphraseVariable))
}
