package forge

import (
	"context"
	"errors"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

func TestRetryUpdate(t *testing.T) {
	again, refused, broken := &problem.Refusal{Reason: "500", Again: true}, &problem.Refusal{Reason: "403"}, errors.New("cut off")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name    string
		ctx     context.Context
		answers []error // the last one is that of all further requests
		tries   int
		want    error
	}{
		{"at once", t.Context(), []error{nil}, 1, nil},
		{"another client was faster", t.Context(), []error{again, again, nil}, 3, nil},
		{"other clients stay faster", t.Context(), []error{again}, maxTries, again},
		{"refused", t.Context(), []error{refused}, 1, refused},
		{"refused then", t.Context(), []error{again, refused}, 2, refused},
		{"no answer: it may be done", t.Context(), []error{broken}, 1, broken},
		{"the caller has gone", ended, []error{again}, 1, again},
	} {
		tries := 0
		_, err := retryUpdate(test.ctx, func() (int, error) {
			tries++
			return 0, test.answers[min(tries, len(test.answers))-1]
		})
		if !errors.Is(err, test.want) || tries != test.tries {
			t.Errorf("%s: %d requests, and the error %v; want %d, and %v", test.name, tries, err, test.tries, test.want)
		}
	}
}
