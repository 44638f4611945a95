package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"
)

const secretOfTests = "0123456789abcdef0123456789abcdef"

// TestDeriveKey: keys are those of RFC 5869, computed here by its definition, and no two clusters or
// epochs have the same one.
func TestDeriveKey(t *testing.T) {
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	want := base64.RawURLEncoding.EncodeToString(mac(mac([]byte("fairlead cluster"), secretOfTests), "east-1\x000\x01"))
	got, err := DeriveKey(secretOfTests, "east-1", 0)
	if got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	known := map[string]string{}
	for _, secret := range []string{secretOfTests, strings.ToUpper(secretOfTests)} {
		for _, cluster := range []string{"east-1", "east-10", "east-2", "east.1"} {
			for _, epoch := range []int{0, 1, 10, 11} {
				key, err := DeriveKey(secret, cluster, epoch)
				if len(key) != 43 || err != nil || known[key] != "" {
					t.Errorf("%s in epoch %d: %q, %v; also that of %q", cluster, epoch, key, err, known[key])
				}
				known[key] = cluster
			}
		}
	}
}

func TestDeriveKeyRefuses(t *testing.T) {
	for _, c := range []struct{ secret, cluster, want string }{
		{secretOfTests, "", "cannot be a name"},
		{secretOfTests, "East", "cannot be a name"},
		{secretOfTests, "../east", "cannot be a name"},
		{secretOfTests, "east\x001", "cannot be a name"},
		{secretOfTests, strings.Repeat("e", 254), "254 characters long"},
		{secretOfTests[1:], "east", "has 31 characters, and should have 32 or more"},
		{"", "east", "has 0 characters"},
	} {
		if key, err := DeriveKey(c.secret, c.cluster, 0); key != "" || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with %q: %q, %v, want %s", c.cluster, c.secret, key, err, c.want)
		}
	}
}

// TestEpoch: a renewed key is good at once, the one before for a day, and older ones not at all.
func TestEpoch(t *testing.T) {
	once := Epoch{}.Next(noon)
	twice := once.Next(noon.Add(time.Hour))
	both := []string{secretOfTests, strings.ToUpper(secretOfTests)}
	for _, c := range []struct {
		name    string
		epoch   Epoch
		secrets []string
		after   time.Duration
		want    []int
	}{
		{"never renewed", Epoch{}, both[:1], 0, []int{0}},
		{"renewed", once, both[:1], 0, []int{1, 0}},
		{"renewed by a clock that is ahead", once, both[:1], -time.Hour, []int{1, 0}},
		{"almost a day ago", once, both[:1], 24*time.Hour - time.Second, []int{1, 0}},
		{"a day ago", once, both[:1], 24 * time.Hour, []int{1}},
		{"renewed twice", twice, both[:1], 2 * time.Hour, []int{2, 1}},
		{"two secrets", once, both, 0, []int{1, 0, 1, 0}},
		{"no secret", once, nil, 0, nil},
	} {
		got, err := c.epoch.DeriveKeys(c.secrets, "east-1", noon.Add(c.after))
		var want []string
		for i, epoch := range c.want {
			key, _ := DeriveKey(c.secrets[i*len(c.secrets)/len(c.want)], "east-1", epoch)
			want = append(want, key)
		}
		if !slices.Equal(got, want) || err != nil {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, want)
		}
	}
	if keys, err := (Epoch{}).DeriveKeys([]string{secretOfTests, "short"}, "east-1", noon); keys != nil || err == nil {
		t.Errorf("with a short secret: %q", keys)
	}
}
