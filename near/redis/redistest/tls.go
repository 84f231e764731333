package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

// StartTLS is [Start] for a server that also speaks TLS, at addr. Its certificate is signed
// by itself, for 127.0.0.1, is valid for an hour, and is trusted by roots.
func StartTLS() (s *Server, addr string, roots *x509.CertPool, err error) {
	if s, err = newServer(); err != nil {
		return nil, "", nil, err
	}
	port, err := neartest.FreePort()
	if err != nil {
		s.Stop()
		return nil, "", nil, err
	}
	certificate, key := filepath.Join(s.dir, certificateFile), filepath.Join(s.dir, "server.key")
	if roots, err = writeCertificate(certificate, key); err != nil {
		s.Stop()
		return nil, "", nil, err
	}
	s, err = s.run(append(slices.Clip(inMemory), "--tls-port", port, "--tls-auth-clients", "no",
		"--tls-ca-cert-file", certificate, "--tls-cert-file", certificate, "--tls-key-file", key)...)
	return s, net.JoinHostPort("127.0.0.1", port), roots, err
}

// Certificate returns the file with the certificate of a server of StartTLS, in PEM.
func (s *Server) Certificate() string { return filepath.Join(s.dir, certificateFile) }

const certificateFile = "server.crt"

// writeCertificate makes a certificate and writes it and its key to files. It returns a pool
// that trusts it.
func writeCertificate(file, keyFile string) (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(file, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return roots, writePEM(keyFile, "PRIVATE KEY", private)
}

func writePEM(file, kind string, content []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}
