package names

// Namespaces are those of one hub.
type Namespaces struct {
	// System is where the controller runs, Registration where import accounts and credential secrets live, Agents where
	// request accounts live.
	System, Registration, Agents string
}

// NamespacesOf derives a hub's namespaces from its system namespace.
func NamespacesOf(system string) Namespaces {
	return Namespaces{System: system, Registration: RegistrationNamespace(system), Agents: AgentsNamespace(system)}
}
