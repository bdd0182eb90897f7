// Follow a cluster with the cache inside Argo CD and print the tree under some objects as one JSON line, then again
// whenever it is another one, until standard input ends. `KUBECONFIG` leads to the cluster.
//
//	argocd-tree GROUP/KIND/NAMESPACE/NAME...
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	origin = "resource.karmada.io/cached-from-cluster"
	pause  = 50 * time.Millisecond
)

// node is an object and what it owns, as the tree of Argo CD shows it.
type node struct {
	Kind     string  `json:"kind"`
	Name     string  `json:"name"`
	Cluster  string  `json:"cluster"`
	Children []*node `json:"children,omitempty"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	var roots []kube.ResourceKey
	for _, argument := range arguments {
		parts := strings.Split(argument, "/")
		if len(parts) != 4 {
			return fmt.Errorf("%s is no GROUP/KIND/NAMESPACE/NAME", argument)
		}
		roots = append(roots, kube.NewResourceKey(parts[0], parts[1], parts[2], parts[3]))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000 // it lists every resource there is before it begins
	clusterCache := cache.NewClusterCache(config, cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(object *unstructured.Unstructured, _ bool) (any, bool) {
			return object.GetAnnotations()[origin], false
		}))
	if err := clusterCache.EnsureSynced(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	var last []byte
	for {
		line, err := json.Marshal(forest(clusterCache, roots))
		if err != nil {
			return err
		}
		if !bytes.Equal(line, last) {
			fmt.Println(string(line))
			last = line
		}
		select {
		case <-ended:
			return nil
		case <-time.After(pause):
		}
	}
}

// forest is the tree under each of the roots that exist, in their order.
func forest(clusterCache cache.ClusterCache, roots []kube.ResourceKey) []*node {
	found := []*node{}
	for _, root := range roots {
		nodes, owners := map[string]*node{}, map[string][]string{}
		var uids []string
		clusterCache.IterateHierarchyV2([]kube.ResourceKey{root},
			func(resource *cache.Resource, _ map[kube.ResourceKey]*cache.Resource) bool {
				uid, cluster := string(resource.Ref.UID), ""
				if resource.Info != nil {
					cluster = resource.Info.(string)
				}
				nodes[uid] = &node{Kind: resource.Ref.Kind, Name: resource.Ref.Name, Cluster: cluster}
				for _, owner := range resource.OwnerRefs {
					owners[uid] = append(owners[uid], string(owner.UID))
				}
				uids = append(uids, uid)
				return true
			})
		for _, uid := range uids {
			for _, owner := range owners[uid] {
				if parent := nodes[owner]; parent != nil {
					parent.Children = append(parent.Children, nodes[uid])
				}
			}
		}
		for _, each := range nodes {
			sort.Slice(each.Children, func(i, j int) bool { return each.Children[i].Name < each.Children[j].Name })
		}
		if len(uids) > 0 {
			found = append(found, nodes[uids[0]])
		}
	}
	return found
}
