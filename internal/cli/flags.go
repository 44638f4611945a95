package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/render"
)

// parsePairs parses the values of a flag of the form KEY=VALUE. Where the key is a URL, which
// may contain "=", the last "=" separates them.
func parsePairs(flag, form string, values []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, v := range values {
		i := strings.LastIndex(v, "=")
		if strings.HasPrefix(form, "NAME") {
			i = strings.Index(v, "=")
		}
		if i <= 0 || i == len(v)-1 {
			return nil, usageErrorf("it should be "+form, "%s %s cannot be read", flag, v)
		}
		if _, twice := pairs[v[:i]]; twice {
			return nil, usageErrorf("leave one of them out", "%s is given twice for %s", flag, v[:i])
		}
		pairs[v[:i]] = v[i+1:]
	}
	return pairs, nil
}

// singleValue is a flag that may be set once: a second value would silently replace the first.
type singleValue struct {
	flag  string
	value *string
	set   bool
}

// String returns the value.
func (s *singleValue) String() string { return *s.value }

// Type returns the word for the value in the help.
func (s *singleValue) Type() string { return "name" }

// Set sets the value; a second, different one is an error.
func (s *singleValue) Set(value string) error {
	switch {
	case s.set && value != *s.value: // completion sets the same one again
		return usageErrorf("run the command once for each", "%s is given twice", s.flag)
	case value == "":
		return usageErrorf("leave the flag out, or name one", "%s has no name", s.flag)
	}
	*s.value, s.set = value, true
	return nil
}

// addMissingValuesFlag adds the flag that corresponds to the setting missingValues.
func addMissingValuesFlag(f *pflag.FlagSet, o *render.Options) {
	f.BoolVar(&o.PublishMissing, "publish-missing-values", false, "publish null and missing values as <no value>, with a warning (the setting missingValues: publish)")
}
