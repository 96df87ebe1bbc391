package bench

import (
	"runtime"
	"time"
)

// Look is what had been used at one moment.
type Look struct {
	At time.Time
	// Usage is of the processes of the hub, and of this one; busy is the processor time of the whole machine.
	Usage map[string]Usage
	busy  float64
}

// Look takes it now.
func (h *Hub) Look() (Look, error) {
	usage, err := h.Usage()
	if err != nil {
		return Look{}, err
	}
	busy, err := BusyCPU()
	return Look{At: time.Now(), Usage: usage, busy: busy}, err
}

// UsedSince is what each process used since an earlier look, and its memory now.
func (l Look) UsedSince(earlier Look) map[string]Usage {
	out := map[string]Usage{}
	for name, use := range l.Usage {
		out[name] = use.Since(earlier.Usage[name])
	}
	return out
}

// CoresSince is how many processors each process kept busy since then, and how many were busy with other things.
func (l Look) CoresSince(earlier Look) (own map[string]float64, others float64) {
	seconds := l.At.Sub(earlier.At).Seconds()
	own = map[string]float64{}
	others = (l.busy - earlier.busy) / seconds
	for name, use := range l.UsedSince(earlier) {
		own[name] = use.CPU / seconds
		others -= own[name]
	}
	return own, max(0, others)
}

// CPUBound is how many of n things a second all processors together could do, at what they have cost: each process kept
// so many processors busy for so long.
func CPUBound(n int, took time.Duration, cores map[string]float64) float64 {
	used := 0.0
	for _, share := range cores {
		used += share * took.Seconds()
	}
	return float64(runtime.NumCPU()) * float64(n) / used
}
