package clusterregistrationtoken

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/registration"
)

// tolerance is how much earlier than the token's own end a JWT may end without counting as short: the clocks of hub and
// API server differ, and a request takes its time.
const tolerance = time.Minute

// stored is the JWT in the token's Secret if it is still the right one, and when it has to be renewed: zero where it
// lasts as long as the token. It is judged by what it says of itself; nothing is minted while it holds.
func stored(in input) (jwt string, due time.Time) {
	if in.values == nil {
		return "", time.Time{}
	}
	// The error is about the document as an agent would need it, such as a missing URL; here only the token counts.
	bootstrap, _ := registration.ParseValues(in.values.Data[registration.KeyValues])
	claims, err := registration.ParseClaims(bootstrap.Token)
	if err != nil || claims.Expires.IsZero() {
		return "", time.Time{}
	}
	if claims.Namespace != in.names.Registration || claims.Account != accountName(in.token) {
		return "", time.Time{}
	}
	// An account that the cache does not show may have been made a moment ago, by us: its own event will tell.
	if in.account != nil && claims.AccountUID != string(in.account.UID) {
		return "", time.Time{}
	}
	return bootstrap.Token, renewal(in, bootstrap.Token)
}

// renewal is when a JWT has to be replaced although the token lives on: the server granted it less than was asked for,
// or the token's TTL was raised since.
func renewal(in input, jwt string) time.Time {
	claims, err := registration.ParseClaims(jwt)
	if err != nil || claims.Expires.IsZero() {
		return time.Time{}
	}
	end, _ := endOf(in.token)
	if !claims.Expires.Before(end.Add(-tolerance)) {
		return time.Time{}
	}
	if before := in.token.Status.Expires; in.minted == "" && before != nil && !before.Equal(statusTime(in.token)) {
		return in.now
	}
	return registration.RenewalDue(claims.IssuedAt, claims.Expires)
}

// lifetime is how long a JWT was made to live.
func lifetime(jwt string) time.Duration {
	claims, err := registration.ParseClaims(jwt)
	if err != nil {
		return 0
	}
	return claims.Expires.Sub(claims.IssuedAt)
}

// filledFor says whether a service-account-token Secret is of this very account. One that is not filled in yet says
// nothing of the account's UID.
func filledFor(secret *corev1.Secret, account *corev1.ServiceAccount) bool {
	uid, ok := secret.Annotations[corev1.ServiceAccountUIDKey]
	return !ok || uid == string(account.UID)
}
