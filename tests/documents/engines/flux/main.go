// Reconcile a folder of manifests with the engine inside Flux, once: apply what drifted on the server's side, prune what
// was in the inventory and is no longer wanted, and wait until that is gone. `KUBECONFIG` leads to the cluster; the
// inventory, which Flux keeps in its own objects, is a file here.
//
//	flux-sync FOLDER INVENTORY
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	name      = "nginx-example"
	namespace = "default"
	patience  = 60 * time.Second
)

func main() {
	said, err := run(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(said)
}

func run(folder, inventory string) (map[string]ssa.Action, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	manager, err := connect()
	if err != nil {
		return nil, err
	}
	wanted, err := manifests(folder)
	if err != nil {
		return nil, err
	}
	if err := normalize.UnstructuredList(wanted); err != nil {
		return nil, err
	}
	manager.SetOwnerLabels(wanted, name, namespace)
	applied, err := manager.ApplyAllStaged(ctx, wanted, ssa.DefaultApplyOptions())
	if err != nil {
		return nil, err
	}
	said := applied.ToMap()
	gone, err := abandoned(inventory, wanted)
	if err != nil {
		return nil, err
	}
	options := ssa.DefaultDeleteOptions()
	options.Inclusions = manager.GetOwnerLabels(name, namespace)
	pruned, err := manager.DeleteAll(ctx, gone, options)
	if err != nil {
		return nil, err
	}
	maps.Copy(said, pruned.ToMap())
	if err := manager.WaitForTermination(gone, ssa.WaitOptions{Interval: time.Second / 5, Timeout: patience}); err != nil {
		return nil, err
	}
	return said, remember(inventory, wanted)
}

func connect() (*ssa.ResourceManager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, transport)
	if err != nil {
		return nil, err
	}
	cluster, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		return nil, err
	}
	poller := polling.NewStatusPoller(cluster, mapper, polling.Options{})
	return ssa.NewResourceManager(cluster, poller, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}), nil
}

func manifests(folder string) ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	sort.Strings(paths)
	var found []*unstructured.Unstructured
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		objects, err := utils.ReadObjects(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		found = append(found, objects...)
	}
	return found, nil
}

// abandoned is what the last reconciliation applied and this one does not want.
func abandoned(inventory string, wanted []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(inventory)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	before, err := utils.ReadObjects(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for _, object := range wanted {
		kept[utils.FmtUnstructured(object)] = true
	}
	var gone []*unstructured.Unstructured
	for _, object := range before {
		if !kept[utils.FmtUnstructured(object)] {
			gone = append(gone, object)
		}
	}
	return gone, nil
}

func remember(inventory string, applied []*unstructured.Unstructured) error {
	text, err := utils.ObjectsToYAML(applied)
	if err != nil {
		return err
	}
	return os.WriteFile(inventory, []byte(text), 0o600)
}
