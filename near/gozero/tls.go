package gozero

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/cache"

	pinwheel "github.com/pinwheel-cache/pinwheel/cache"
)

// tlsOf returns how the connections that watch a node verify it: by the authorities of the
// system, or by those of c.CA. New watches a node before go-zero's own cache connects, which
// verifies nothing, so a wrong server does not get the password.
func (c Conf) tlsOf(n cache.NodeConf) (*tls.Config, error) {
	if !n.Tls {
		if c.CA != "" {
			return nil, fmt.Errorf("%w: CA is %q, but Redis %s has no Tls: want Tls: true there, or no CA", pinwheel.ErrArgument, c.CA, n.Host)
		}
		return nil, nil
	}
	if c.InsecureSkipVerify {
		if c.CA != "" {
			return nil, fmt.Errorf("%w: both CA and InsecureSkipVerify are set: want one of them", pinwheel.ErrArgument)
		}
		logx.Errorf("cache(%s) - InsecureSkipVerify: whoever answers at %s gets the password, and may answer for Redis", c.Name, n.Host)
		return &tls.Config{InsecureSkipVerify: true}, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA == "" {
		return config, nil
	}
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("%w: CA: %w", pinwheel.ErrArgument, err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: CA: no certificate in %s: want the PEM file of an authority", pinwheel.ErrArgument, c.CA)
	}
	return config, nil
}

// explained adds what to do to the error of a certificate that is not trusted.
func explained(err error) error {
	if failed := new(tls.CertificateVerificationError); errors.As(err, &failed) {
		return fmt.Errorf("%w: want the PEM file of its authority as CA, or InsecureSkipVerify to accept any server, as go-zero does", err)
	}
	return err
}
