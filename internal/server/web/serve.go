package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// shutdownGrace is how long requests in flight may continue after the end.
const shutdownGrace = 5 * time.Second

// Serve answers on the listener until ctx is done, waits at most 5 seconds for requests
// in flight, and closes the listener. It returns an error only if serving failed.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return serveUntilDone(ctx, listener, handler, shutdownGrace)
}

func serveUntilDone(ctx context.Context, listener net.Listener, handler http.Handler, grace time.Duration) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	err := shutDown(ctx, server, grace)
	<-ended
	if err != nil {
		return fmt.Errorf("stop serving on %s: %w", listener.Addr(), err)
	}
	return nil
}

// shutDown ends the server. Cutting off a client that is too slow is no error.
func shutDown(ctx context.Context, server *http.Server, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	return err
}
