package heartbeat

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const grace = 3 * time.Minute

// wire is what an agent with a wrong clock writes into its Lease.
func wire(n int) time.Time { return time.Date(1999, 1, 1, 0, n, 0, 0, time.UTC) }

var beforeTheHub = began.Add(-time.Hour)

func TestWhatStoodThereAtTheStartIsNoRenewal(t *testing.T) {
	tr := newTracker(began, nil)

	p, look := tr.observe("ns", "holder", wire(1), beforeTheHub, began, grace)
	assert.True(t, look, "everything is judged once")
	assert.True(t, p.seen.IsZero())
	assert.Equal(t, unknown, p.contact(began, grace))
	assert.Equal(t, unknown, p.contact(began.Add(grace-time.Second), grace), "until the grace ends nothing is known")
	assert.Equal(t, silent, p.contact(began.Add(grace), grace))
	assert.Equal(t, began.Add(grace), p.ends(grace))

	p, _ = tr.observe("ns", "holder", wire(1), beforeTheHub, began.Add(time.Minute), grace)
	assert.True(t, p.seen.IsZero(), "to look again is no renewal either")

	seen := began.Add(2 * time.Minute)
	p, _ = tr.observe("ns", "holder", wire(2), beforeTheHub, seen, grace)
	assert.Equal(t, connected, p.contact(seen, grace))
	assert.Equal(t, seen, p.seen, "the hub's own clock counts")
	assert.Equal(t, seen.Add(grace), p.ends(grace))
	assert.Equal(t, silent, p.contact(seen.Add(grace), grace))
}

func TestALeaseThatWasMadeSinceTheStartIsBelievedAtOnce(t *testing.T) {
	tr := newTracker(began.Add(300*time.Millisecond), nil)
	at := began.Add(10 * time.Second)

	p, _ := tr.observe("renewed", "holder", wire(1), began, at, grace)
	assert.Equal(t, connected, p.contact(at, grace), "creation times have whole seconds")

	p, _ = tr.observe("untouched", "", time.Time{}, began.Add(time.Second), at, grace)
	assert.Equal(t, unknown, p.contact(at, grace))
}

func TestARenewalIsAnyOtherTimeNotALaterOne(t *testing.T) {
	tr := newTracker(began, nil)
	tr.observe("ns", "holder", wire(5), beforeTheHub, began, grace)
	p, _ := tr.observe("ns", "holder", wire(4), beforeTheHub, began.Add(time.Minute), grace)
	assert.Equal(t, connected, p.contact(began.Add(time.Minute), grace), "an agent's clock may be set back")
}

func TestOnlyAChangeIsJudged(t *testing.T) {
	tr := newTracker(began, nil)
	at := began
	n := 0
	beat := func(holder string) (pulse, bool) {
		n++
		at = at.Add(time.Minute)
		return tr.observe("ns", holder, wire(n), beforeTheHub, at, grace)
	}
	settle := func(p pulse, due time.Time) { tr.settled("ns", p, p.contact(at, grace), due) }

	_, look := beat("a")
	assert.True(t, look)
	_, look = beat("a")
	assert.True(t, look, "it was not settled")
	p, _ := beat("a")
	settle(p, time.Time{})
	_, look = beat("a")
	assert.False(t, look, "a heartbeat like the last one costs nothing")

	p, look = beat("b")
	assert.True(t, look, "another holder")
	settle(p, time.Time{})

	at = at.Add(time.Hour)
	p, look = tr.observe("ns", "b", wire(n), beforeTheHub, at, grace)
	assert.True(t, look, "silence")
	settle(p, time.Time{})
	_, look = tr.observe("ns", "b", wire(n), beforeTheHub, at.Add(time.Hour), grace)
	assert.False(t, look, "still silent")

	p, look = beat("b")
	assert.True(t, look, "back")
	settle(p, at.Add(90*time.Second))
	_, look = beat("b")
	assert.False(t, look, "not due yet")
	_, look = beat("b")
	assert.True(t, look, "the credential is due")
}

func TestARequestForANewJudgementIsNotLostToOneUnderWay(t *testing.T) {
	tr := newTracker(began, nil)
	at := began.Add(time.Minute)
	tr.observe("ns", "a", wire(1), beforeTheHub, began, grace)
	p, _ := tr.observe("ns", "a", wire(2), beforeTheHub, at, grace)

	tr.invalidate("ns") // what it is about came after the judgement had looked
	tr.settled("ns", p, connected, time.Time{})

	p, look := tr.observe("ns", "a", wire(2), beforeTheHub, at, grace)
	assert.True(t, look)
	tr.settled("ns", p, connected, time.Time{})
	_, look = tr.observe("ns", "a", wire(2), beforeTheHub, at, grace)
	assert.False(t, look)
}

func TestWhatIsForgottenStartsAnew(t *testing.T) {
	tr := newTracker(began, nil)
	tr.observe("ns", "a", wire(1), beforeTheHub, began, grace)
	p, _ := tr.observe("ns", "a", wire(2), beforeTheHub, began, grace)
	tr.settled("ns", p, connected, time.Time{})

	tr.forget("ns")

	assert.Empty(t, tr.entries)
	tr.settled("ns", p, connected, time.Time{}) // a judgement that was under way
	tr.invalidate("ns")
	assert.Empty(t, tr.entries, "it leaves nothing behind")
	p, look := tr.observe("ns", "a", wire(2), beforeTheHub, began.Add(time.Minute), grace)
	assert.True(t, look)
	assert.Equal(t, unknown, p.contact(began.Add(time.Minute), grace))
}

// The workers of the Lease controller, and the watches of other kinds, call it at once; the race detector looks on.
func TestManyClustersAtOnce(t *testing.T) {
	tr := newTracker(began, nil)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			key := string(rune('a' + worker%4))
			for n := range 200 {
				p, _ := tr.observe(key, key, wire(n), beforeTheHub, began.Add(time.Duration(n)*time.Second), grace)
				tr.settled(key, p, connected, time.Time{})
				tr.invalidate(key)
			}
		})
	}
	all.Wait()
	assert.Len(t, tr.entries, 4)
}
