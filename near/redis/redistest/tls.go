package redistest

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
)

// StartTLS is [Start] for a server that also speaks TLS, at addr. Its certificate is that of
// httptest, for 127.0.0.1 and example.com, signed by itself and trusted by roots.
func StartTLS() (s *Server, addr string, roots *x509.CertPool, err error) {
	if s, err = newServer(); err != nil {
		return nil, "", nil, err
	}
	certificate, key := filepath.Join(s.dir, "server.crt"), filepath.Join(s.dir, "server.key")
	port, err := freePort()
	if err == nil {
		roots, err = writeCertificate(certificate, key)
	}
	if err != nil {
		s.Stop()
		return nil, "", nil, err
	}
	s, err = s.run(append(slices.Clip(inMemory), "--tls-port", port, "--tls-auth-clients", "no",
		"--tls-ca-cert-file", certificate, "--tls-cert-file", certificate, "--tls-key-file", key)...)
	return s, net.JoinHostPort("127.0.0.1", port), roots, err
}

// writeCertificate writes a certificate and its key to files. It returns a pool that trusts it.
func writeCertificate(certificateFile, keyFile string) (*x509.CertPool, error) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	private, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return roots, errors.Join(writePEM(certificateFile, "CERTIFICATE", server.Certificate().Raw), writePEM(keyFile, "PRIVATE KEY", private))
}

func writePEM(file, kind string, content []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}
