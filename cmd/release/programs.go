package main

import "path"

// program that is shipped.
type program struct {
	pkg string // its folder in this module, whose base is the binary's name
	// image is the name of its image, which is also that of the repository; empty: it has none.
	image string
	// user of the image, see image.Image.
	user string
}

// nonRoot is the user of images that need no other. deploy/operator says it again, for the kubelet.
const nonRoot = "65532:65532"

const (
	operatorImage = "trainingjob-operator"
	agentImage    = "trainingjob-agent"
	serverImage   = "trainingjob-server"
)

// containerPrograms are those that ship as images. A new one is one line here, and what deploy/ says of it.
var containerPrograms = []program{
	{pkg: "cmd/operator", image: operatorImage, user: nonRoot},
	{pkg: "cmd/server", image: serverImage, user: nonRoot},
	// The agent reads the trainer's files, so it must run as the trainer's user. The pod sets that user, or the
	// trainer's image does. In the second case only root, without capabilities, reads the private files of the
	// many trainers that run as root (docs/security.md, "Checkpoint searches"). If root is forbidden, the
	// operator sets another user for the agent.
	{pkg: "cmd/agent", image: agentImage},
}

// plugin of kubectl.
var plugin = program{pkg: "cmd/kubectl-tj"}

func (p program) binary() string { return path.Base(p.pkg) }

// platform of a binary, in Go's words.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// imageArchitectures of Linux that images can have.
var imageArchitectures = []string{"amd64", "arm64"}

// pluginPlatforms are where kubectl runs.
var pluginPlatforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}
