package heartbeat

import (
	"math/bits"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/fleet/pkg/agent/pace"
)

// firstRetry is the pause after the first failure.
const firstRetry = time.Second

// trouble counts failures in a row: it says how long to wait, and logs the first, second, fourth, eighth … of them.
type trouble struct {
	what    string
	log     *logrus.Entry
	backoff pace.Backoff
	count   uint
}

// tellAfter is how many failures in a row are more than a moment's trouble, such as a hub that restarts.
const tellAfter = 4

// lasting says that people should hear of it.
func (t *trouble) lasting() bool { return t.count >= tellAfter }

func newTrouble(what string, log *logrus.Entry, o Options) trouble {
	return trouble{what: what, log: log, backoff: pace.Backoff{First: firstRetry, Max: o.Interval, Random: o.Random}}
}

// failed is the pause before the next try.
func (t *trouble) failed(err error) time.Duration {
	t.count++
	if bits.OnesCount(t.count) == 1 {
		t.log.Warnf("%s failed (%d in a row): %v", t.what, t.count, err)
	}
	return t.backoff.Next()
}

func (t *trouble) passed() {
	if t.count > 0 {
		t.log.Infof("%s works again after %d failures", t.what, t.count)
	}
	t.count = 0
	t.backoff.Reset()
}
