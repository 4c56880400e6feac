//! TLS with the system's own certificates.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Url;
use crate::domain::failure::{Failure, FailureKind};

/// How to open TLS to one server.
pub(super) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// Trusts what this computer trusts.
    pub(super) fn new(url: &Url) -> Result<Self, Failure> {
        let failed = |cause: String| Failure::new(FailureKind::TlsFailed).because(cause).at(url.origin());
        let mut roots = RootCertStore::empty();
        // Some stores hold certificates that cannot be used; the others still count.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(failed("this computer has no trusted certificates".to_owned()));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(url.host.clone()).map_err(|error| failed(error.to_string()))?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
    }

    /// Opens TLS on a connection.
    pub(super) async fn wrap(&self, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.name.clone(), tcp).await
    }
}
