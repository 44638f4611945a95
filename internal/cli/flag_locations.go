package cli

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// checkLocations checks flags for repositories or pages, which it recognizes by the
// value's name in the help.
func checkLocations(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err != nil {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch word, _ := pflag.UnquoteUsage(f); word {
			case "PATH-or-URL":
				err = checkLocation("--"+f.Name, value)
			case "URL=PATH-or-URL":
				err = checkLocation("--"+f.Name, value[strings.LastIndex(value, "=")+1:])
			case "URL":
				err = checkPage("--"+f.Name, value)
			}
			if err != nil {
				return
			}
		}
	})
	return err
}

// checkLocation rejects a URL without scheme unless a folder has that name.
func checkLocation(flag, location string) error {
	guess := giturl.GuessRepositoryURL(location)
	if _, err := os.Stat(location); guess == "" || err == nil {
		return nil
	}
	return usageErrorf(fmt.Sprintf("did you mean %s? A folder is ./%s", guess, location), "%s %s has no scheme, and there is no such folder", flag, location)
}

// checkPage accepts HOST:PORT without TLS, and "" as no flag, which the CI workflows
// rely on.
func checkPage(flag, page string) error {
	if page == "" {
		return nil
	}
	if !strings.Contains(page, "://") {
		page = "http://" + page
	}
	u, err := url.Parse(page)
	if err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	return usageErrorf("as in http://fairlead.example.com:8080", "%s %s is not the URL of a page", flag, strings.TrimPrefix(page, "http://"))
}
