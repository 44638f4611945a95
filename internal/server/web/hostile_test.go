package web

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

// filled are an answer of each page, in which checkFilled writes a text into every field.
var filled = []any{
	answer.Lever{}, answer.Me{}, answer.Inbox{}, answer.Overview{}, answer.OutputChanges{}, answer.PastEnvironment{}, answer.PastEnvironments{}, answer.OneEnvironment{}, answer.PullImpact{}, answer.Journey{}, answer.Status{}, answer.Stack{}, answer.StackRun{}, answer.Found{},
	answer.Assignment{}, answer.FleetMap{}, answer.ClusterType{}, answer.Cluster{}, answer.Workload{}, page.Refused{}, page.Settings{}, page.Missing{}, page.Environments{}, page.Problems{}, page.Commits{}, page.Forecast{}, page.Figures{}, page.Explain{}, page.Diff{}, page.Stacks{}, page.Fleet{},
	page.History{}, page.Workloads{}, page.ClusterTypes{},
}

// fill writes a text into all texts of a value, and one element into each list and map.
func fill(v reflect.Value, text string, truth bool, depth int) {
	if !v.CanSet() || depth > 12 {
		return
	}
	if _, isTime := v.Interface().(time.Time); isTime {
		v.Set(reflect.ValueOf(noon))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(truth)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, truth, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, truth, depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, truth, depth+1)
		fill(value, text, truth, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text, truth, depth+1)
		}
	}
}

// checkFilled checks the pages and the texts of all answers, and the tables for spreadsheets, that have a text in all of
// their fields.
func checkFilled(t *testing.T, text string) {
	t.Helper()
	for _, truth := range []bool{true, false} {
		for _, empty := range filled {
			of := reflect.New(reflect.TypeOf(empty)).Elem()
			fill(of, text, truth, 0)
			kept, err := page.Render(page.Frame{Path: "/levers/hold?" + text, Questions: truth, SignedIn: true, Acts: truth, Product: text, Query: text, History: truth, Forecasts: truth}, of.Interface())
			if err != nil {
				t.Fatalf("%T: %v", empty, err)
			}
			body, _ := kept.For(page.Reader{Name: text, Waiting: text})
			checkMarkup(t, text, string(body))
			if t.Failed() {
				t.Fatalf("in %T", empty)
			}
		}
	}
	for _, empty := range filled {
		of := reflect.New(reflect.TypeOf(empty)).Elem()
		fill(of, text, true, 0)
		if _, isAnswer := strings.CutPrefix(of.Type().String(), "answer."); !isAnswer {
			continue
		}
		said, err := newText(http.StatusOK, of.Interface(), plaintext.Facts{Now: noon})
		if at := strings.IndexFunc(string(said.body), func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }); err != nil || at >= 0 {
			t.Fatalf("the text of %T has %q at %d, %v:\n%.200q", empty, text, at, err, said.body)
		}
	}
	var h answer.History
	fill(reflect.ValueOf(&h).Elem(), text, true, 0)
	checkTable(t, text, plaintext.NewHistoryTable(h, noon))
	for _, at := range []string{"", "=", "+", "@", "-", "\t=", "\x00=", "\n=", " ="} {
		checkTable(t, at+text, plaintext.Table{Columns: []plaintext.Column{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "d"}}, Rows: [][]any{{at + text, []string{at + text}, plaintext.CommitID(at + text), plaintext.Revision(at + text)}}})
	}
}

// checkTable checks that a table for spreadsheets has the rows and the columns that it should, and no formula.
func checkTable(t *testing.T, text string, table plaintext.Table) {
	t.Helper()
	var written bytes.Buffer
	err := table.WriteCSV(&written)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&written).ReadAll()
	if err != nil || len(rows) != 1+len(table.Rows) {
		t.Fatalf("%q makes %d rows, want %d: %v", text, len(rows), 1+len(table.Rows), err)
	}
	for _, row := range rows {
		for _, cell := range row {
			begin := strings.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
			if len(begin) > 1 && strings.ContainsAny(begin[:1], "=+-@") && strings.Trim(begin, "+-.0123456789") != "" {
				t.Errorf("%q is the formula %q", text, cell)
			}
		}
	}
}

// TestHostileAnswers writes hostile texts into all answers, those of operator actions too.
func TestHostileAnswers(t *testing.T) {
	for _, text := range append([]string{`=HYPERLINK("https://evil.example.com")`, "+cmd|' /C calc'!A0", "@SUM(1)", "-1+1", "-", "\x00\x1b[2J\r"}, hostile[:4]...) {
		checkFilled(t, text)
	}
}
