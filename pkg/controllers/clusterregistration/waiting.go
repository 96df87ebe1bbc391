package clusterregistration

import "time"

// lately is how old a request may be to count as one whose agent waits at this moment. What nobody could answer for longer
// waits for something else than the hub's time.
const lately = time.Minute

// waiting is how many requests came lately and have no answer yet.
func (h *handler) waiting() int {
	requests, err := h.Registrations.Cache().GetByIndex(newRequests, newRequests)
	if err != nil {
		return 0 // the index is there since Register
	}
	now, count := h.Clock.Now(), 0
	for _, r := range requests {
		if now.Sub(r.CreationTimestamp.Time) < lately {
			count++
		}
	}
	return count
}
