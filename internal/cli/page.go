package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// findPage returns the page's URL by --url or the settings, as seen from this machine.
func (cc *commandContext) findPage() (string, error) {
	if cc.daemonURL != "" {
		return daemonClient{cc.daemonURL}.pageURL(), nil
	}
	if err := cc.readSettings(); err != nil {
		return "", err
	}
	if cc.settings == nil {
		return "", errNoDaemonKnown
	}
	page := pageOf(cc.settings.Listen)
	if page == "" {
		return "", usageErrorf("write listen: HOST:PORT into the settings, or name a page with --url", "the settings name no address, so that the daemon has no page")
	}
	return page, nil
}

var errNoDaemonKnown = usageErrorf("--url URL names its page, as in http://fairlead.example.com:8080; --config FILE reads it from the settings",
	"it is not known where the daemon is: there is no "+defaultSettingsFile+" here, and no --url")

// pageOf returns the page's URL of a listen address as seen from this machine; "" for
// none.
func pageOf(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

func (cc *commandContext) newPageCommand(c *cobra.Command, run func(ctx context.Context, page string) error) *cobra.Command {
	c.GroupID, c.Args = groupDaemon, checkArguments(0, 0)
	c.RunE = func(c *cobra.Command, _ []string) error {
		page, err := cc.findPage()
		if err != nil {
			return err
		}
		return run(c.Context(), page)
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&cc.daemonURL, "url", "", "the `URL` of the daemon's page (default: listen of the settings)")
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	return c
}

func newTrigger(a *app) *cobra.Command {
	cc := newCommandContext(a)
	c := cc.newPageCommand(&cobra.Command{
		Use:   "trigger",
		Short: "Start a cycle of a running daemon now",
		Long: `Trigger asks a running daemon to poll all repositories now, instead of at the next interval.
It does not wait for the end of the cycle, which the page and fairlead status show.`,
		Example: `  fairlead trigger
  fairlead trigger --url http://fairlead.example.com:8080`,
	}, func(ctx context.Context, page string) error {
		if err := cc.wakeDaemon(ctx, daemonClient{page}, daemonTimeout); err != nil {
			return err
		}
		return a.printValue(nil, nil, func() string { return fmt.Sprintf("the daemon at %s starts a cycle\n", page) })
	})
	a.addDryRunFlag(c)
	return c
}

func (cc *commandContext) wakeDaemon(ctx context.Context, daemon daemonClient, timeout time.Duration) error {
	address := daemon.pageURL() + "api/v1/wake"
	if cc.app.dryRun {
		cc.app.recordEffect("call POST %s", address)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return usageErrorf("as in --url http://daemon:8080", "--url is not a URL: %v", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return problem.WithHint(err, "is fairlead serve running? "+daemonHint)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxDaemonAnswer))
	if answer.StatusCode != http.StatusAccepted {
		return problem.WithHint(fmt.Errorf("%s answers %s", request.URL, answer.Status), daemonHint)
	}
	return nil
}

// ownWakeTimeout is short, since the settings' daemon may not run.
const ownWakeTimeout = 2 * time.Second

// wakeKnownDaemon wakes the daemon of --url or of the local settings and returns its
// page, or "". Failure is no error: the daemon polls anyway.
func (cc *commandContext) wakeKnownDaemon(ctx context.Context) string {
	if cc.daemonURL == "" && (cc.settings == nil || cc.settings.Listen == "") {
		return ""
	}
	page, err := cc.findPage()
	if err != nil {
		return ""
	}
	timeout := ownWakeTimeout
	if cc.daemonURL != "" {
		timeout = daemonTimeout
	}
	err = cc.wakeDaemon(ctx, daemonClient{page}, timeout)
	if err != nil && cc.daemonURL != "" {
		fmt.Fprintf(cc.app.stderr, "fairlead: note: the daemon was not woken: %s\n", display.SanitizeLine(err.Error()))
	}
	if err != nil {
		return ""
	}
	return page
}

func newOpen(a *app) *cobra.Command {
	cc := newCommandContext(a)
	return cc.newPageCommand(&cobra.Command{
		Use:   "open",
		Short: "Open the page of a running daemon in the browser",
		Long: `Open shows the page of a running daemon in the browser, and prints its address. Where standard
output is not a terminal it prints the address alone.`,
		Example: `  fairlead open
  fairlead open --url http://fairlead.example.com:8080`,
	}, func(ctx context.Context, page string) error {
		if _, err := fmt.Fprintln(a.stdout, page); err != nil || !a.stdout.Terminal {
			return err
		}
		return openBrowser(ctx, page)
	})
}

func openBrowser(ctx context.Context, page string) error {
	opener := map[string]string{"darwin": "open", "windows": "explorer"}[runtime.GOOS]
	if opener == "" {
		opener = "xdg-open"
	}
	if err := exec.CommandContext(ctx, opener, page).Run(); err != nil {
		return problem.WithHint(fmt.Errorf("open the browser with %s: %w", opener, err), "open the address above in a browser")
	}
	return nil
}

// pageURL adds a trailing slash, assumes no TLS for HOST:PORT, and drops query and
// fragment.
func (d daemonClient) pageURL() string {
	page, _, _ := strings.Cut(d.url, "#")
	page, _, _ = strings.Cut(page, "?")
	if !strings.Contains(page, "://") {
		page = "http://" + page
	}
	return strings.TrimSuffix(page, "/") + "/"
}
