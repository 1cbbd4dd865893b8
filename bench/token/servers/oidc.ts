/** Peer (c): client credentials of `oidc-provider` with `tls_client_auth`; ES256 JWT access tokens bound to the certificate. */
import { generateKeyPairSync, type X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Provider } from 'oidc-provider';
import { listen, tlsFilesFromArguments } from './tls-files.ts';

interface Context {
  readonly req: IncomingMessage;
}

/** The certificate object is made once a connection, as whoever wants speed would configure it. */
const certificates = new WeakMap<Socket, X509Certificate>();

function certificateOf(context: Context): X509Certificate | undefined {
  const socket = context.req.socket;
  const known = certificates.get(socket);
  if (known !== undefined || !(socket instanceof TLSSocket)) return known;
  const certificate = socket.getPeerX509Certificate();
  if (certificate !== undefined) certificates.set(socket, certificate);
  return certificate;
}

const scope = 'catalog:role.reader catalog:role.editor';
const resource = 'urn:catalog';

function configuration(): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = privateKey.export({ format: 'jwk' });
  return {
    clients: [
      {
        client_id: 'media.studio',
        token_endpoint_auth_method: 'tls_client_auth',
        tls_client_auth_subject_dn: 'CN=media.studio',
        tls_client_certificate_bound_access_tokens: true,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        scope,
      },
    ],
    clientAuthMethods: ['tls_client_auth'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    scopes: scope.split(' '),
    jwks: { keys: [{ ...jwk, alg: 'ES256', use: 'sig', kid: 'benchmark' }] },
    ttl: { ClientCredentials: 7200 },
    routes: { token: '/v1/oauth2/token' },
    extraTokenClaims: () => ({ ver: 1, uid: 'media.studio', scp: ['reader', 'editor'] }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: () => ({
          scope,
          audience: 'catalog',
          accessTokenTTL: 7200,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
      mTLS: {
        enabled: true,
        tlsClientAuth: true,
        certificateBoundAccessTokens: true,
        getCertificate: certificateOf,
        certificateAuthorized: ({ req }: Context) => req.socket instanceof TLSSocket && req.socket.authorized,
        certificateSubjectMatches: (context: Context, _property: string, expected: string) =>
          certificateOf(context)?.subject === expected,
      },
    },
  };
}

listen(tlsFilesFromArguments(), (baseUrl) => {
  const provider = new Provider(baseUrl, configuration());
  provider.on('server_error', (_context, error) => process.stderr.write(`${String(error)}\n`));
  return provider.callback();
});
