package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/kube/chart"
)

// The bounds of the process that renders a chart.
const (
	maxMemory = 512 << 20
	maxBuilt  = 16 << 20
)

type buildRequest struct {
	Source inside.Source `json:"source"`
	Chart  chart.Chart   `json:"chart"`
}

type buildAnswer struct {
	Objects map[string][]byte `json:"objects"`
	Reason  inside.Reason     `json:"reason"`
	Detail  string            `json:"detail"`
}

// RunBuilder renders the chart that it reads. It limits the memory of the process, which must do
// nothing else.
func RunBuilder(in io.Reader, out io.Writer) error {
	if err := limitMemory(maxMemory); err != nil {
		return err
	}
	var request buildRequest
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return err
	}
	built := inside.BuildChart(request.Source, request.Chart)
	answer := buildAnswer{Objects: map[string][]byte{}, Reason: built.Reason, Detail: built.Detail}
	size := 0
	for name, data := range built.Objects.All() {
		answer.Objects[name] = data
		size += len(data)
	}
	if size > maxBuilt {
		answer = buildAnswer{Reason: inside.TooLarge}
	}
	return json.NewEncoder(out).Encode(answer)
}

func (f *Fetcher) renderChart(ctx context.Context, s inside.Source, c chart.Chart) inside.Built {
	request, err := json.Marshal(buildRequest{s, c})
	if err != nil {
		return inside.Built{Reason: inside.Failed}
	}
	if len(f.options.Builder) == 0 {
		return inside.Built{Reason: inside.Unsupported}
	}
	ctx, cancel := context.WithTimeout(ctx, f.options.RenderTime)
	defer cancel()
	command := exec.CommandContext(ctx, f.options.Builder[0], f.options.Builder[1:]...)
	out := &bounded{limit: 2 * maxBuilt}
	command.Stdin, command.Stdout, command.WaitDelay = bytes.NewReader(request), out, time.Second
	command.Env = append(command.Environ(), "GOTRACEBACK=none")
	if err := command.Run(); err != nil {
		if f.ended() {
			return inside.Built{Reason: inside.Pending}
		}
		return inside.Built{Reason: inside.Failed, Detail: "rendering took more than the time or the memory that it may"}
	}
	var answer buildAnswer
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return inside.Built{Reason: inside.TooLarge}
	}
	objects, err := tree.FromFiles(answer.Objects)
	if err != nil {
		return inside.Built{Reason: inside.Failed}
	}
	return inside.Built{Objects: objects, Reason: answer.Reason, Detail: text.Shorten(answer.Detail, 300)}
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	limit int
}

// Write keeps what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	_, err := b.Buffer.Write(p[:min(len(p), b.limit-b.Len())])
	return len(p), err
}
