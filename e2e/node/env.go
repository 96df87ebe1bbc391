package node

import (
	corev1 "k8s.io/api/core/v1"
)

// Environment is what a container of a Pod has in its environment. Values from ConfigMaps and Secrets are left out: the
// product uses none.
func Environment(c corev1.Container, pod *corev1.Pod) []string {
	env := []string{"HOSTNAME=" + pod.Name}
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			switch v.ValueFrom.FieldRef.FieldPath {
			case "metadata.namespace":
				value = pod.Namespace
			case "metadata.name":
				value = pod.Name
			case "spec.nodeName":
				value = pod.Spec.NodeName
			case "spec.serviceAccountName":
				value = pod.Spec.ServiceAccountName
			}
		}
		env = append(env, v.Name+"="+value)
	}
	return env
}
