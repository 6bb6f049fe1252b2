package demo

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// remedies are the ways out for somebody whose cluster cannot play the story, as commands to be pasted at
// the root of the repository.
func remedies(dir, scheduler string) string {
	another := localcluster.Command(dir+"-"+scheduler, "demo", "--scheduler", scheduler)
	return fmt.Sprintf("\n  end it:            %s\n  play on another:   %s", localcluster.DownCommand(dir),
		another)
}
