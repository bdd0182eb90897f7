// Command kubectl is the stock kubectl of the released module k8s.io/kubectl named in go.mod, for tests on machines that
// have none.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
}
