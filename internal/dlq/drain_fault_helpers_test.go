package dlq

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	said []string
}

func (l *lines) logger() *slog.Logger { return slog.New(l) }

func (l *lines) messages() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.said, ", ")
}

// Enabled implements slog.Handler.
func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, r.Message)
	return nil
}

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(string) slog.Handler { return l }
