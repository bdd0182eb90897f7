// Sync a folder of manifests with the engine inside Argo CD, once: apply what differs, prune what is gone, say what was
// done and how healthy it is. `KUBECONFIG` leads to the cluster.
//
//	argocd-sync FOLDER
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/engine"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	namespace = "default"
	mark      = "gitops.example.com/managed-by"
	owner     = "nginx-example"
	patience  = 60 * time.Second
)

// report is what one sync did.
type report struct {
	Modified bool              `json:"modified"` // whether the engine saw a difference before it synced
	Results  map[string]string `json:"results"`  // object to what was done with it
	Health   map[string]string `json:"health"`   // object to its health, as Argo CD judges it
}

func main() {
	said, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(said)
}

func run(folder string) (*report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 500, 1000 // it lists every resource there is before it begins
	wanted, err := manifests(folder)
	if err != nil {
		return nil, err
	}
	clusterCache := cache.NewClusterCache(config, cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(object *unstructured.Unstructured, _ bool) (any, bool) {
			managed := object.GetAnnotations()[mark] == owner
			return managed, managed
		}))
	isManaged := func(resource *cache.Resource) bool { return resource.Info == true }
	gitops := engine.NewEngine(config, clusterCache, engine.WithLogr(logr.Discard()))
	stop, err := gitops.Run()
	if err != nil {
		return nil, err
	}
	defer stop()

	said := &report{Results: map[string]string{}, Health: map[string]string{}}
	live, err := clusterCache.GetManagedLiveObjs(wanted, isManaged)
	if err != nil {
		return nil, err
	}
	plan := sync.Reconcile(wanted, live, namespace, clusterCache)
	difference, err := diff.DiffArray(plan.Target, plan.Live, diff.WithLogr(logr.Discard()))
	if err != nil {
		return nil, err
	}
	said.Modified = difference.Modified
	results, err := gitops.Sync(ctx, wanted, isManaged, "first", namespace,
		sync.WithPrune(true), sync.WithLogr(logr.Discard()))
	if err != nil {
		return nil, err
	}
	for _, result := range results {
		said.Results[result.ResourceKey.Kind+"/"+result.ResourceKey.Name] = string(result.Status) + ": " + result.Message
	}
	for _, object := range wanted {
		verdict, err := settled(ctx, clusterCache, isManaged, wanted, kube.GetResourceKey(object))
		if err != nil {
			return nil, err
		}
		said.Health[object.GetKind()+"/"+object.GetName()] = verdict
	}
	return said, nil
}

// settled waits until an object is neither progressing nor unknown to the cache; an object without a health is itself.
func settled(ctx context.Context, clusterCache cache.ClusterCache, isManaged func(*cache.Resource) bool,
	wanted []*unstructured.Unstructured, key kube.ResourceKey,
) (string, error) {
	last := "unknown"
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		live, err := clusterCache.GetManagedLiveObjs(wanted, isManaged)
		if err != nil {
			return "", err
		}
		object := live[key]
		if object == nil {
			continue
		}
		verdict, err := health.GetResourceHealth(object, nil)
		if err != nil {
			return "", err
		}
		if verdict == nil {
			return "", nil
		}
		if last = string(verdict.Status); verdict.Status != health.HealthStatusProgressing {
			return last, nil
		}
	}
	return last, nil
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
		objects, err := kube.SplitYAML(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		found = append(found, objects...)
	}
	for _, object := range found {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[mark] = owner
		object.SetAnnotations(annotations)
	}
	return found, nil
}
