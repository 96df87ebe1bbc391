package cluster

import "context"

type waitingKey struct{}

// OnWait makes a context whose operations tell when they begin to do nothing but wait, for objects, hooks or a repository.
// What began returns is called when the wait is over. Neither may block.
func OnWait(ctx context.Context, began func() (ended func())) context.Context {
	return context.WithValue(ctx, waitingKey{}, began)
}

// Waiting tells whoever wants to know that a wait begins. What it returns is to be called when the wait is over.
func Waiting(ctx context.Context) (ended func()) {
	if began, ok := ctx.Value(waitingKey{}).(func() func()); ok {
		return began()
	}
	return func() {}
}
