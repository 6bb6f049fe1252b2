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
	// The agent reads the trainer's files, so it is who the trainer is. The pod says who that is, and where it
	// leaves that to the trainer's image, nobody but that image knows: then only root, without capabilities,
	// reads the private files of the many trainers that are root (docs/security.md, "The search for
	// checkpoints"). Where root is forbidden, the operator gives the agent another user.
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
