package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain/delivery"
)

// bundlePage is how many bundles one answer of the API server brings.
const bundlePage = 25

func bundleCommand() *cli.Command {
	return &cli.Command{
		Name:  "bundle",
		Usage: "see bundles, and how far they are on each cluster",
		Subcommands: []*cli.Command{
			{
				Name:   "list",
				Usage:  "list bundles: how they are, and what they wait for",
				Flags:  append(listFlags(), outputFlag()),
				Action: listBundles,
			},
			{
				Name:      "explain",
				Usage:     "tell of each cluster how far a bundle is there, what it waits for, and what went wrong",
				ArgsUsage: "NAME",
				Description: "Tells the state of each cluster, its step and partition in the rollout, what it waits for and the last\n" +
					"error of its agent; and which content the bundle has, and how large it is. What you may not read is called\n" +
					"unknown. No value of a Secret is told.\n\n" +
					"   fleet bundle explain app\n   fleet bundle explain fleet-default/app -o yaml",
				Flags:  append(workspaceFlags(), outputFlag()),
				Action: explainBundle,
			},
		},
	}
}

func listBundles(c *cli.Context) error {
	if err := checkFlags(c); err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	var rows []delivery.Row
	namespace, err := h.listed(c, func(namespace string) error {
		rows = nil
		// A bundle has its files in it, up to a megabyte and more: few at a time, and none is kept.
		options := metav1.ListOptions{Limit: bundlePage}
		return notServed(each(c.Context, h, kindBundle, namespace, options, func(b *fleet.Bundle) error {
			rows = append(rows, delivery.RowOf(b))
			return nil
		}))
	})
	if err != nil {
		return fmt.Errorf("listing bundles: %w", err)
	}
	delivery.SortRows(rows)
	if len(rows) == 0 {
		h.noteMissing(c, namespace)
	}
	return present(c, newItems(rows), func(out io.Writer) error { return printBundles(out, rows, namespace, time.Now()) })
}

func printBundles(out io.Writer, rows []delivery.Row, namespace string, now time.Time) error {
	if len(rows) == 0 {
		return nothing(out, "bundles", namespace)
	}
	return columns(out, func(table io.Writer) {
		fmt.Fprintln(table, "WORKSPACE\tNAME\tSTATE\tCLUSTERS READY\tAGE\tWAITS FOR")
		for _, r := range rows {
			state := r.State
			if r.Paused {
				state += ", paused"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Workspace, r.Name, state, r.ReadyClusters, ago(&r.Created, now), orDash(cut(r.Message, widthCell)))
		}
	})
}

func explainBundle(c *cli.Context) error {
	typed, err := typedNames(c, 1, 1, "the NAME of one bundle")
	if err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	o := h.in(c, typed[0])
	bundle, err := oneAsIs[fleet.Bundle](c.Context, h, kindBundle, o)
	switch {
	case errors.Is(err, errNoHub):
		return err
	case apierrors.IsNotFound(err):
		return h.missing(c.Context, kindBundle, o)
	case err != nil:
		return fmt.Errorf("reading Bundle %s: %w", o, err)
	}
	facts, err := readBundle(c.Context, h, bundle)
	if err != nil {
		return err
	}
	told, err := forEyes(delivery.At(facts).Explain())
	if err != nil {
		return err
	}
	return present(c, told, func(out io.Writer) error { return printBundle(out, told, time.Now()) })
}
