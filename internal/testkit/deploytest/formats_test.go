package deploytest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// storedFormat is what one version of Fairlead writes and another one reads.
type storedFormat struct {
	file  string
	write func() ([]byte, error) // with every field that there is; nil for what people write
	read  func([]byte) error
}

var storedFormats = []storedFormat{
	{"output.yaml", func() ([]byte, error) {
		return publish.NewRecord(filled[publish.Written]()).Text("A record.")
	}, func(data []byte) error {
		_, err := publish.ReadRecord(data)
		return err
	}},
	{"lock.yaml", func() ([]byte, error) {
		s := filled[provision.State]()
		return provision.EncodeLock(&s)
	}, func(data []byte) error {
		_, err := provision.ParseLock(data)
		return err
	}},
	{"base-repo.yaml", func() ([]byte, error) {
		return promote.NewRecord("https://git.example.com/plane", "main", "0123456789012345678901234567890123456789"), nil
	}, func(data []byte) error {
		_, err := promote.RecordedCommit(data)
		return err
	}},
	{"report.json", func() ([]byte, error) {
		return json.MarshalIndent(filled[agentapi.Request](), "", "  ")
	}, func(data []byte) error { return json.Unmarshal(data, &agentapi.Request{}) }},
	{"fairlead.yaml", nil, func(data []byte) error {
		if problems := config.CheckFields("fairlead.yaml", data); problems.Stops() {
			return fmt.Errorf("%v", problems)
		}
		return nil
	}},
}

// newestFormats is the folder of what this version writes. A version that writes something which the version before cannot
// read gets a folder of its own, and docs/how-to/upgrade.md says what to do to go back.
const newestFormats = "1"

// TestFormats: what is stored by any version since the first release is read, and what is written is what the version
// before reads: exactly the stored text, in which every field is set. Where a field was added that the version before ignores,
// -update writes the text again.
func TestFormats(t *testing.T) {
	versions, err := filepath.Glob("testdata/formats/*")
	if err != nil || len(versions) == 0 {
		t.Fatalf("the versions are %q (%v)", versions, err)
	}
	for _, f := range storedFormats {
		newest := filepath.Join("testdata/formats", newestFormats, f.file)
		if f.write != nil {
			got, err := f.write()
			if err != nil {
				t.Fatalf("%s: %v", f.file, err)
			}
			if *update {
				if err := os.WriteFile(newest, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(newest)
			if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" {
				t.Errorf("%s is written otherwise than the version before reads it (%v) (-stored +written):\n%s", f.file, err, diff)
			}
		}
		read := 0
		for _, version := range versions {
			data, err := os.ReadFile(filepath.Join(version, f.file))
			if os.IsNotExist(err) { // it is as in the version before
				continue
			}
			if err == nil {
				err = f.read(data)
			}
			if err != nil {
				t.Errorf("%s of version %s: %v", f.file, filepath.Base(version), err)
			}
			read++
		}
		if read == 0 {
			t.Errorf("there is no %s", f.file)
		}
	}
}

// filled returns a value in which every field is set.
func filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 0)
	return v
}

// maxFill bounds how deep a value is filled: some types contain themselves.
const maxFill = 12

func fill(v reflect.Value, depth int) {
	if depth > maxFill {
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	}
}
