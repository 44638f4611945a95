package config

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Settings is the settings file with its defaults filled in. A field's key is its
// yaml tag; the required tag has an example of what must be there; empty:"true"
// lets a text be empty.
type Settings struct {
	ControlPlane ControlPlane `yaml:"controlPlane" required:"controlPlane: {repo: https://git.example.com/team/control-plane}"`
	// Environments are the only ones to work on; nil selects all of the control plane.
	Environments []string `yaml:"environments"`
	// Write lets Fairlead push, and open pull requests.
	Write bool `yaml:"write"`
	// DataDir is the folder for mirrors; it need not exist yet.
	DataDir string `yaml:"dataDir"`
	// Listen is the host:port of the HTTP server; "" is none.
	Listen string `yaml:"listen" empty:"true"`
	// Hosts are names under which the page is reached, beside those that only the machine or
	// its cluster resolves.
	Hosts    []string `yaml:"hosts"`
	Schedule Schedule `yaml:"schedule"`
	// OverdueAfter is the time without a finished cycle after which an environment is
	// reported as overdue.
	OverdueAfter time.Duration `yaml:"overdueAfter"`
	// Timeout bounds one fetch or push.
	Timeout time.Duration `yaml:"timeout"`
	// RenderTimeout bounds rendering one environment, once all that it is made of was read.
	RenderTimeout time.Duration `yaml:"renderTimeout"`
	// Parallel is how many environments are worked on at a time, 1 to 64.
	Parallel int    `yaml:"parallel"`
	Output   Output `yaml:"output"`
	// Promotion is "managed", or "external": others decide which commit of the base an
	// environment has, and Fairlead renders it.
	Promotion string `yaml:"promotion"`
	// MissingValues is "refuse", or "publish": a value that is null or missing shows as
	// "<no value>", as in Kalypso.
	MissingValues string `yaml:"missingValues"`
	// NextEnvironment names the environment after another, as Kalypso's
	// NEXT_ENVIRONMENT does, for a control plane that has no Promotion.
	NextEnvironment map[string]string `yaml:"nextEnvironment"`
	// Verify is the share of renderings that are made again from nothing and compared,
	// as in "1%".
	Verify string `yaml:"verify"`
	// Merge selects by environment who merges its pull requests: "manual" (the default),
	// "when-green" or "direct".
	Merge map[string]string `yaml:"merge"`
	// Network is about what repositories may be named in the control plane.
	Network Network  `yaml:"network"`
	Remotes []Remote `yaml:"remotes"`
	Forges  []Forge  `yaml:"forges"`
	// Map redirects the reading of repositories: from their URL, as written, to a
	// URL or an absolute path.
	Map map[string]string `yaml:"map"`
	// Signing is nil if commits are not signed.
	Signing *Signing `yaml:"signing"`
	// TrustedSigners are the people whose signed commits count as approvals that can be trusted.
	TrustedSigners TrustedSigners `yaml:"trustedSigners"`
	Author         Author         `yaml:"author"`
	// Webhooks are the senders that may wake Fairlead or report what clusters run.
	Webhooks Webhooks `yaml:"webhooks"`
	// Ledger is about what is kept of the reports of clusters.
	Ledger Ledger `yaml:"ledger"`
	// Web is about people at the page.
	Web Web `yaml:"web"`
	// Probes are what gates may ask: see [Settings.Probe].
	Probes []Probe `yaml:"probes"`
	Log    Log     `yaml:"log"`
}

// ControlPlane is the repository that people write in.
type ControlPlane struct {
	// Repo is a URL or an absolute path.
	Repo string `yaml:"repo" required:"repo: https://git.example.com/team/control-plane"`
	// Branch is that of the base.
	Branch string `yaml:"branch"`
}

// Schedule is the time between polls: see [Settings.NextPoll].
type Schedule struct {
	// Interval is 0 if there is a Cron.
	Interval time.Duration `yaml:"interval"`
	// Cron is a cron expression of five fields, or "".
	Cron string `yaml:"cron"`
	// Jitter is the most that is added to the time of a poll.
	Jitter time.Duration `yaml:"jitter"`

	cron cron.Schedule // Cron, parsed; nil if there is none
}

// Output is about the repositories that rendered files go to.
type Output struct {
	// Create lets Fairlead make an output branch that does not exist.
	Create bool `yaml:"create"`
	// BranchPrefix is what the names of proposal branches begin with.
	BranchPrefix string `yaml:"branchPrefix"`
	// VerifiedCommits has the forge make the commits, and sign them, which needs a
	// GitHub App.
	VerifiedCommits bool `yaml:"verifiedCommits"`
	// Retired is what becomes of the output of an environment that has left the control
	// plane, or has its output elsewhere now: "remove" proposes to remove it, which only
	// people merge, and "keep" leaves it.
	Retired string `yaml:"retired"`
	// Allow is where output may go; nil allows every repository but those of the control plane.
	Allow []Destination `yaml:"allow"`
}

// Destination is where output may go.
type Destination struct {
	// Repo is the URL or absolute path of a repository, or what those of several begin with.
	Repo string `yaml:"repo" required:"repo: https://git.example.com/team/gitops"`
	// Branches are patterns of names, as in path.Match; nil allows all.
	Branches []string `yaml:"branches"`
}

// Network is the part of this machine, and of the platform that it runs on, that the control
// plane may name.
type Network struct {
	// Allow are hosts, with or without a port, and absolute paths of folders.
	Allow []string `yaml:"allow"`
}

// Remote is the credential for the repositories whose URLs begin with URL. One of Token,
// GitHubApp and SSH is not nil.
type Remote struct {
	URL   string     `yaml:"url" required:"url: https://git.example.com/team/"`
	Token *SecretRef `yaml:"token"`
	// Username goes with Token.
	Username  string     `yaml:"username"`
	GitHubApp *GitHubApp `yaml:"githubApp"`
	SSH       *SSH       `yaml:"ssh"`
}

// GitHubApp is an installation of a GitHub App, which issues tokens that expire.
type GitHubApp struct {
	ID           int64 `yaml:"id" required:"id: 1234"`
	Installation int64 `yaml:"installation" required:"installation: 5678"`
	// Key is the App's private key, as PEM.
	Key SecretRef `yaml:"key" required:"key: {file: app.pem}"`
	// API is the URL of the API, without a final slash.
	API string `yaml:"api"`
}

// SSH is a key to log in with, and the host keys to trust.
type SSH struct {
	Key SecretRef `yaml:"key" required:"key: {file: id_ed25519}"`
	// Passphrase is that of Key; nil if it has none.
	Passphrase *SecretRef `yaml:"passphrase"`
	// KnownHosts is an absolute path; "" is the user's own and the machine's.
	KnownHosts string `yaml:"knownHosts"`
}

// Forge is the kind of forge at a host.
type Forge struct {
	Host string `yaml:"host" required:"host: git.example.com"`
	// Kind is "git", "github", "gitlab" or "gitea" (which Forgejo is too).
	Kind string `yaml:"kind" required:"kind: git"`
	// API is the URL of the API; "" if Kind has none, or it follows from Host.
	API string `yaml:"api"`
}

// Signing signs commits. One of its fields is not nil.
type Signing struct {
	SSH *SigningKey `yaml:"ssh"`
	GPG *SigningKey `yaml:"gpg"`
}

// SigningKey is a private key, in OpenSSH's format or as an armored OpenPGP key.
type SigningKey struct {
	Key SecretRef `yaml:"key" required:"key: {file: signing_key}"`
	// Passphrase is that of Key; nil if it has none.
	Passphrase *SecretRef `yaml:"passphrase"`
}

// TrustedSigners are files with public keys. Each is an absolute path, or "" for none.
type TrustedSigners struct {
	// SSH has lines as in ALLOWED SIGNERS of ssh-keygen(1).
	SSH string `yaml:"ssh"`
	// GPG has armored OpenPGP keys.
	GPG string `yaml:"gpg"`
}

// Author is the author and committer of commits.
type Author struct {
	Name  string `yaml:"name"`
	Email string `yaml:"email"`
}

// Webhooks has the secrets by which forges and clusters prove who they are. nil disables the
// webhook of that kind.
type Webhooks struct {
	GitHub *Webhook `yaml:"github"`
	GitLab *Webhook `yaml:"gitlab"`
	// Gitea is Forgejo too.
	Gitea *Webhook `yaml:"gitea"`
	// Flux is the notification-controller of clusters, which reports what they run.
	Flux *Webhook `yaml:"flux"`
}

// Webhook is about the webhooks of one kind of forge, or of Flux.
type Webhook struct {
	Secret SecretRef `yaml:"secret" required:"secret: {file: webhook-secret}"`
	// Previous is a secret that is good as well, until all webhooks have the other;
	// nil if there is none.
	Previous *SecretRef `yaml:"previous"`
}

// Ledger has what the keys are derived from by which clusters prove their names.
type Ledger struct {
	// Secret is nil if clusters have no keys of their own.
	Secret *SecretRef `yaml:"secret"`
	// Previous is a secret whose keys are good as well, until all clusters have those of the
	// other; nil if there is none.
	Previous *SecretRef `yaml:"previous"`
	// Postgres is the database of the ledger; nil for a file in the data folder.
	Postgres *Postgres `yaml:"postgres"`
	Keep     Keep      `yaml:"keep"`
	// Retire is after how long a silent cluster is no longer expected.
	Retire time.Duration `yaml:"retire"`
}

// Keep is how long the ledger keeps the past.
type Keep struct {
	// Spans is how long it keeps what an object said at a time that has ended.
	Spans time.Duration `yaml:"spans"`
	// Arrivals is how long it keeps when each cluster had an output, after that was replaced.
	Arrivals time.Duration `yaml:"arrivals"`
	// Days is how long it keeps what both were added up to.
	Days time.Duration `yaml:"days"`
}

// Postgres is a database of PostgreSQL.
type Postgres struct {
	// URL is its address, with the password.
	URL SecretRef `yaml:"url" required:"url: {env: LEDGER_POSTGRES}"`
}

// Probe is what URLs begin with that gates may ask.
type Probe struct {
	URL string `yaml:"url" required:"url: https://metrics.example.com/"`
	// Token is sent to these URLs only; nil if none is.
	Token *SecretRef `yaml:"token"`
}

// Log is the format and the level of the log.
type Log struct {
	// Format is "text" or "json".
	Format string `yaml:"format"`
	// Level is "info" or "debug".
	Level string `yaml:"level"`
}

// defaultSettings returns the default settings. Those that depend on the environment or on
// other keys are filled in by the checks.
func defaultSettings() *Settings {
	return &Settings{
		ControlPlane:  ControlPlane{Branch: "main"},
		Listen:        "127.0.0.1:8080",
		Timeout:       2 * time.Minute,
		RenderTimeout: 2 * time.Minute,
		Parallel:      4,
		Output:        Output{BranchPrefix: "fairlead/", Retired: "remove"},
		Promotion:     "managed",
		MissingValues: "refuse",
		Verify:        "1%",
		Author:        Author{Name: "Fairlead", Email: "fairlead@localhost"},
		Ledger:        Ledger{Keep: Keep{Spans: 90 * day, Arrivals: 30 * day, Days: 400 * day}, Retire: 7 * day},
		Web:           Web{Read: ReadEverybody, Session: WebSession{Idle: 8 * time.Hour, Life: 24 * time.Hour}},
		Log:           Log{Format: "text", Level: "info"},
	}
}
