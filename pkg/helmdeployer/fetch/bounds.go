package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/semaphore"
)

// A fetch holds all that it fetches in memory, and bundles are fetched for at the same time, as many as there are. What is
// small is nobody's concern. A fetch that turns out to be large, of a repository that may have been made so, takes a turn,
// and has it until it is done.
const (
	maxIndex    = 32 << 20
	maxChart    = 32 << 20
	maxUnpacked = 64 << 20
	// small is what a fetch may receive without a turn, and smallUnpacked what its chart may become.
	small         = 1 << 20
	smallUnpacked = 8 * small
	// turns is how many large fetches are under way at once.
	turns = 2
	// maxNested is how deep charts are looked for in charts.
	maxNested = 5
)

var (
	large = semaphore.NewWeighted(turns)
	// parsing is how much of indexes is read at once, each of which takes many times its size for a moment.
	parsing = semaphore.NewWeighted(maxIndex)
)

var (
	errClosed = errors.New("the fetch has ended")
	errChart  = fmt.Errorf("the chart is larger than %d bytes when it is unpacked", maxUnpacked)
)

// took counts what was received. More than a little of it waits for a turn.
func (f *fetcher) took(n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	f.received += int64(n)
	switch {
	case f.received > maxIndex+maxChart:
		return fmt.Errorf("the repository has sent more than %d bytes", maxIndex+maxChart)
	case f.received > small:
		return f.takeTurn()
	}
	return nil
}

// takeTurn waits for one, unless the fetch has it. The lock is held.
func (f *fetcher) takeTurn() error {
	if f.hasTurn {
		return nil
	}
	if err := large.Acquire(f.ctx, 1); err != nil {
		return fmt.Errorf("waiting until other large charts are fetched: %w", err)
	}
	f.hasTurn = true
	return nil
}

// close ends what may still be under way, and gives the turn back.
func (f *fetcher) close() {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.hasTurn {
		large.Release(1)
	}
	f.pool.CloseIdleConnections()
}

// fits makes sure that a chart becomes not too large, with the charts in it, and waits for a turn if it becomes large. What
// cannot be read is left to who loads it.
func (f *fetcher) fits(archive []byte) error {
	size, err := unpackedSize(bytes.NewReader(archive), 0, maxNested)
	if err != nil || size <= smallUnpacked {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takeTurn()
}

// unpackedSize adds up the files of a chart, and those of the packed charts in it.
func unpackedSize(archive io.Reader, size int64, depth int) (int64, error) {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return size, nil
	}
	files := tar.NewReader(unzipped)
	for {
		file, err := files.Next()
		if err != nil {
			return size, nil
		}
		if size += file.Size; size > maxUnpacked || file.Size < 0 {
			return size, errChart
		}
		if !strings.HasSuffix(file.Name, ".tgz") {
			continue
		}
		if depth == 0 {
			return size, fmt.Errorf("the chart has charts in charts, more than %d deep", maxNested)
		}
		if size, err = unpackedSize(files, size, depth-1); err != nil {
			return size, err
		}
	}
}

// counted tells the fetch what is received of an answer.
type counted struct {
	io.ReadCloser
	fetch *fetcher
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		if refused := c.fetch.took(n); refused != nil {
			return 0, refused
		}
	}
	return n, err
}
