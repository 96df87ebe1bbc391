package sandbox

import (
	"text/template/parse"
)

// Nothing in text/template can be stopped but at a write or a call. So meter puts empty texts before the actions, whose
// writes are counted: a loop with an empty body then costs, too.
const (
	// callWeight is how many steps the call of a template costs, so that templates which call each other end soon.
	callWeight = 250
	// bytesPerStep is how much text of an action makes another step.
	bytesPerStep = 64
)

// meter prepares a parsed template. defined says that it is one that others can call.
func meter(tree *parse.Tree, defined bool) {
	if tree == nil || tree.Root == nil {
		return
	}
	meterList(tree.Root)
	if defined {
		tree.Root.Nodes = append(empty(callWeight, tree.Root.Pos), tree.Root.Nodes...)
	}
}

func meterList(list *parse.ListNode) {
	if list == nil {
		return
	}
	metered := empty(1, list.Pos)
	for _, node := range list.Nodes {
		metered = append(append(metered, empty(steps(node), node.Position())...), node)
	}
	list.Nodes = metered
}

// steps goes into a node, and says how many steps it is worth itself.
func steps(node parse.Node) int {
	var branch *parse.BranchNode
	switch node := node.(type) {
	case *parse.TextNode:
		return 0
	case *parse.IfNode:
		branch = &node.BranchNode
	case *parse.RangeNode:
		branch = &node.BranchNode
	case *parse.WithNode:
		branch = &node.BranchNode
	default:
		return 1 + len(node.String())/bytesPerStep
	}
	meterList(branch.List)
	meterList(branch.ElseList)
	return 1 + len(branch.Pipe.String())/bytesPerStep
}

func empty(n int, at parse.Pos) []parse.Node {
	nodes := make([]parse.Node, n)
	for i := range nodes {
		nodes[i] = &parse.TextNode{NodeType: parse.NodeText, Pos: at}
	}
	return nodes
}
