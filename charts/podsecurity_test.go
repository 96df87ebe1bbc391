package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The rules are those of the Pod Security Standard "restricted", for the fields that a pod of ours could break.
func TestPodsPassTheRestrictedStandard(t *testing.T) {
	for name, i := range map[string]install{
		"hub":                hub(""),
		"hub with Rancher":   hub(rancherValues(t)),
		"agent":              agent(""),
		"agent, all options": agent(fullAgentValues),
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(t, i.mustRender(t))
			assert.False(t, p.HostNetwork || p.HostPID || p.HostIPC)
			require.NotNil(t, p.SecurityContext)
			assert.Equal(t, true, *p.SecurityContext.RunAsNonRoot)
			assert.Equal(t, int64(1000), *p.SecurityContext.RunAsUser)
			assert.Equal(t, int64(1000), *p.SecurityContext.RunAsGroup)
			assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, p.SecurityContext.SeccompProfile.Type)
			assert.Empty(t, p.SecurityContext.Sysctls)
			assert.Empty(t, p.InitContainers)
			for _, volume := range p.Volumes {
				assert.NotNil(t, volume.EmptyDir, "volume %s", volume.Name)
			}
			for _, c := range p.Containers {
				require.NotNil(t, c.SecurityContext)
				assert.Equal(t, false, *c.SecurityContext.AllowPrivilegeEscalation)
				assert.Equal(t, false, *c.SecurityContext.Privileged)
				assert.Equal(t, true, *c.SecurityContext.ReadOnlyRootFilesystem)
				assert.Equal(t, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, c.SecurityContext.Capabilities)
				for _, port := range c.Ports {
					assert.Zero(t, port.HostPort)
				}
			}
		})
	}
}

// A root filesystem that cannot be written needs places that can be.
func TestWritablePlacesAreMounted(t *testing.T) {
	for _, c := range []struct {
		install install
		want    []string
	}{
		{hub(""), []string{"/tmp"}},
		{agent(""), []string{"/.kube", "/tmp"}},
	} {
		p := pod(t, c.install.mustRender(t))
		volumes := map[string]bool{}
		for _, volume := range p.Volumes {
			volumes[volume.Name] = true
		}
		var paths []string
		for _, mount := range p.Containers[0].VolumeMounts {
			assert.True(t, volumes[mount.Name], "volume %s", mount.Name)
			paths = append(paths, mount.MountPath)
		}
		assert.Equal(t, c.want, paths)
	}
}
