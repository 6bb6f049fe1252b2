package demo

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// remedies returns hints for a user whose cluster cannot play the story: commands for the root of the
// repository.
func remedies(dir, scheduler string) string {
	another := localcluster.Command(dir+"-"+scheduler, "demo", "--scheduler", scheduler)
	return fmt.Sprintf("\n  end it:            %s\n  play on another:   %s", localcluster.DownCommand(dir),
		another)
}
