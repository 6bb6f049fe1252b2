package session

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// sealing returns the cipher for the token of a session. Its key is derived from the secret in the browser's
// cookie, of which the database has only the SHA-256: the database alone reveals no token.
func sealing(secret []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "trainingjob-server: token of a session", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a token; nil for none.
func seal(secret []byte, token string) ([]byte, error) {
	if token == "" {
		return nil, nil
	}
	aead, err := sealing(secret)
	if err != nil {
		return nil, fmt.Errorf("encrypting the token of a session: %w", err)
	}
	return aead.Seal(nil, nil, []byte(token), nil), nil
}

func unseal(secret, sealed []byte) (string, error) {
	aead, err := sealing(secret)
	if err == nil {
		var token []byte
		if token, err = aead.Open(nil, nil, sealed, nil); err == nil {
			return string(token), nil
		}
	}
	return "", fmt.Errorf("decrypting the token of a session: %w", err)
}
