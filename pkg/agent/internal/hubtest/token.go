package hubtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// Account is who a token speaks for.
type Account struct {
	Namespace, Name, UID string
	// Request is that of a request account, empty for an import account.
	Request string
}

// jwt is a token that says what a service account's says. Nobody checks its signature.
func jwt(a Account, issued, expires time.Time) string {
	claims := map[string]any{
		"sub": fmt.Sprintf("system:serviceaccount:%s:%s", a.Namespace, a.Name),
		"iat": issued.Unix(),
		// jti keeps two tokens of the same second apart.
		"jti": string(uuid.NewUUID()),
		"kubernetes.io": map[string]any{
			"namespace":      a.Namespace,
			"serviceaccount": map[string]any{"name": a.Name, "uid": a.UID},
		},
	}
	if !expires.IsZero() {
		claims["exp"] = expires.Unix()
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return "e30." + base64.RawURLEncoding.EncodeToString(raw) + ".c2ln"
}
