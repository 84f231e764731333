//go:build !wheelcancel

package context

import "context"

func WithCancel(parent Context) (Context, CancelFunc) { return context.WithCancel(parent) }

func WithCancelCause(parent Context) (Context, CancelCauseFunc) {
	return context.WithCancelCause(parent)
}
