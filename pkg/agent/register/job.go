package register

import "context"

// job is something that runs beside the supervisor and has one result. A nil job never has one.
type job[T any] struct {
	// key says what the job is about.
	key    string
	cancel context.CancelFunc
	out    chan T
}

// launch starts fn, which must return soon after its context has ended.
func launch[T any](ctx context.Context, key string, fn func(ctx context.Context) T) *job[T] {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan T, 1)
	go func() {
		defer cancel()
		out <- fn(ctx)
	}()
	return &job[T]{key: key, cancel: cancel, out: out}
}

// result is where the result comes from, for a select.
func (j *job[T]) result() <-chan T {
	if j == nil {
		return nil
	}
	return j.out
}

// stop ends the job, waits until it has ended and throws its result away. It is not for a job whose result was taken.
func (j *job[T]) stop() {
	if j != nil {
		j.cancel()
		<-j.out
	}
}
