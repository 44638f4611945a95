package templatefunc

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/google/go-cmp/cmp"
)

// expand gives what a template makes of the data.
func expand(functions template.FuncMap, text string, data any) (string, error) {
	t, err := template.New("test").Funcs(functions).Parse(text)
	if err != nil {
		return "", err
	}
	return execute(t, data)
}

func execute(t *template.Template, data any) (string, error) {
	var b strings.Builder
	err := t.Execute(&b, data)
	return b.String(), err
}

func TestFunctions(t *testing.T) {
	functions := Map(unlimited())
	for _, r := range slices.Concat(sprigRows, ownRows) {
		t.Run(r.function, func(t *testing.T) {
			got, err := expand(functions, r.template, sample())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.template, diff)
			}
		})
	}
}

// The wants above are what sprig gives, not what we make of it.
func TestFunctionsGiveWhatSprigGives(t *testing.T) {
	functions := sprig.TxtFuncMap()
	for _, r := range sprigRows {
		if r.function == "keys" || r.function == "values" {
			continue
		}
		got, err := expand(functions, r.template, sample())
		if err != nil {
			t.Fatalf("%s: %v", r.template, err)
		}
		if diff := cmp.Diff(r.want, got); diff != "" {
			t.Errorf("%s (-want +sprig):\n%s", r.template, diff)
		}
	}
}

// A function is offered only if someone thought of it: it has a row.
func TestEveryFunctionHasARow(t *testing.T) {
	rows := map[string]bool{"fail": true} // gives nothing but errors
	for _, r := range slices.Concat(sprigRows, ownRows) {
		rows[r.function] = true
	}
	want := slices.Sorted(maps.Keys(rows))
	got := slices.Sorted(maps.Keys(Map(unlimited())))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions without a row, or rows without a function (-rows +functions):\n%s", diff)
	}
	if len(got) != 135 {
		t.Errorf("%d functions, want 123 of sprig, 6 of text/template, 6 of Kalypso and our own", len(got))
	}
}

func TestRemoved(t *testing.T) {
	want := map[string]string{
		"env":       "reads the environment",
		"expandenv": "reads the environment",

		"getHostByName": "reaches the network",

		"now": "reads the clock",
		"ago": "reads the clock",

		"date":           "depends on the clock or the time zones of the machine",
		"dateInZone":     "depends on the clock or the time zones of the machine",
		"dateModify":     "depends on the clock or the time zones of the machine",
		"date_in_zone":   "depends on the clock or the time zones of the machine",
		"date_modify":    "depends on the clock or the time zones of the machine",
		"htmlDate":       "depends on the clock or the time zones of the machine",
		"htmlDateInZone": "depends on the clock or the time zones of the machine",
		"toDate":         "depends on the clock or the time zones of the machine",
		"unixEpoch":      "depends on the clock or the time zones of the machine",

		"encryptAES":        "gives another result each time",
		"genCA":             "gives another result each time",
		"genPrivateKey":     "gives another result each time",
		"genSelfSignedCert": "gives another result each time",
		"genSignedCert":     "gives another result each time",
		"randAlpha":         "gives another result each time",
		"randAlphaNum":      "gives another result each time",
		"randAscii":         "gives another result each time",
		"randNumeric":       "gives another result each time",
		"shuffle":           "gives another result each time",
		"uuidv4":            "gives another result each time",

		"buildCustomCert": "puts a password or a private key into the output",
		"derivePassword":  "puts a password or a private key into the output",
	}
	offered := Map(unlimited())
	got := map[string]string{}
	for name := range sprig.TxtFuncMap() {
		if offered[name] == nil {
			got[name] = RemovedReason(name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions of sprig that are not offered, and why (-want +got):\n%s", diff)
	}
	for name := range offered {
		if why := RemovedReason(name); why != "" {
			t.Errorf("%s is offered although it %s", name, why)
		}
	}
	if why := RemovedReason("nope"); why != "" {
		t.Errorf("Removed(nope) = %q", why)
	}
}

func TestRemovedCannotBeCalled(t *testing.T) {
	for _, call := range []string{
		`env "HOME"`, `expandenv "$HOME"`, `getHostByName "localhost"`, `now`, `ago 0`, `date "2006" 0`, `uuidv4`,
		`randAlphaNum 5`, `shuffle "ab"`, `genPrivateKey "rsa"`, `genCA "x" 1`, `encryptAES "k" "x"`,
		`derivePassword 1 "long" "p" "u" "s"`, `toDate "2006" "2024"`,
	} {
		name, _, _ := strings.Cut(call, " ")
		_, err := expand(Map(unlimited()), "{{ "+call+" }}", sample())
		if err == nil || !strings.Contains(err.Error(), `function "`+name+`" not defined`) {
			t.Errorf("%s: error %v, want that the function is not defined", call, err)
		}
	}
}

func TestMutates(t *testing.T) {
	functions := Map(unlimited())
	changing := map[string]bool{}
	for _, r := range slices.Concat(sprigRows, ownRows) {
		data := sample()
		if _, err := expand(functions, r.template, data); err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(sample(), data) {
			changing[r.function] = true
		}
	}
	for name := range functions {
		if Mutates(name) != changing[name] {
			t.Errorf("Mutates(%s) = %v, and its rows change their data: %v", name, Mutates(name), changing[name])
		}
	}
}

// Map order is the one thing that differs between runs on one machine.
func TestSameEachTime(t *testing.T) {
	var wg sync.WaitGroup
	for _, r := range slices.Concat(sprigRows, ownRows) {
		wg.Go(func() {
			compiled := template.Must(template.New("test").Funcs(Map(unlimited())).Parse(r.template))
			for range 100 {
				if got, err := execute(compiled, sample()); err != nil || got != r.want {
					t.Errorf("%s: got %q, error %v, want %q", r.template, got, err, r.want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestMapIsTheCallers(t *testing.T) {
	delete(Map(unlimited()), "toYaml")
	if Map(unlimited())["toYaml"] == nil {
		t.Error("a change to one map shows in the next")
	}
}
