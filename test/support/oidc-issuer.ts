import { generateKeyPairSync } from 'node:crypto';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import type { Pki } from './pki.ts';
import type { Ending } from './start-server.ts';

/** OpenID Connect issuer on this machine, and a browser in which a person logs in to it. */
export interface OidcIssuer {
  readonly issuer: string;
  readonly clientId: string;
  /**
   * Follows the address as a browser does, and logs in as this account or declines. Answers the address on which the issuer's answer is to be
   * brought, which is not asked for.
   */
  browse(address: string, account?: string): Promise<string>;
}

interface IssuerOptions {
  /** Claims of an account beside its `sub`. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Answers of its own in the place of the issuer's, by path. */
  readonly answers?: Readonly<Record<string, (issuer: string) => unknown>>;
  /** Changes what `oidc-provider` is told. */
  readonly more?: object;
}

const clientId = 'signet-cli';

/** Starts it, with a certificate of this authority. */
export async function startOidcIssuer(t: Ending, pki: Pki, options: IssuerOptions = {}): Promise<OidcIssuer> {
  const { certificate, key } = await pki.server();
  const server = createServer({ cert: certificate, key });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `https://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, configurationOf(options));
  const callback = provider.callback();
  server.on('request', (asked, answered) => {
    const [path = ''] = (asked.url ?? '').split('?');
    const own = options.answers?.[path];
    if (own !== undefined) {
      answered.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(own(issuer)));
    } else if (path.startsWith('/interaction/')) {
      const account = new URL(asked.url ?? '', issuer).searchParams.get('account');
      const declined = { error: 'access_denied', error_description: 'the person said no' };
      const result = account === null ? declined : { login: { accountId: account }, consent: {} };
      void provider.interactionFinished(asked, answered, result);
    } else callback(asked, answered);
  });
  return { issuer, clientId, browse: (address, account) => browse(address, account, pki) };
}

function configurationOf({ claims = {}, more = {} }: IssuerOptions): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    clients: [
      {
        client_id: clientId,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: ['http://127.0.0.1/callback'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'issuer', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['not a secret: for tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    // The claims of scopes stand in the ID token, as most issuers have it.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub, ...claims }) }),
    // Logging in is consent: there is no second question.
    loadExistingGrant: async (context: GrantContext) => {
      const { client, session, provider, params } = context.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope(String(params.scope));
      await grant.save();
      return grant;
    },
    ...more,
  };
}

interface GrantContext {
  readonly oidc: {
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
    readonly params: { readonly scope: string };
    readonly provider: Provider;
  };
}

async function browse(address: string, account: string | undefined, pki: Pki): Promise<string> {
  const cookies = new Map<string, string>();
  let next = address;
  for (let hops = 0; hops < 10; hops += 1) {
    const url = new URL(next);
    if (url.protocol === 'http:') return next;
    if (url.pathname.startsWith('/interaction/') && account !== undefined) url.searchParams.set('account', account);
    const { location, text } = await get(url, cookies, pki);
    if (location === undefined) throw new Error(`the issuer led nowhere: ${text}`);
    next = new URL(location, url).href;
  }
  throw new Error('the issuer leads in circles');
}

function get(
  url: URL,
  cookies: Map<string, string>,
  pki: Pki,
): Promise<{ location: string | undefined; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ location: string | undefined; text: string }>();
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const sent = request(url, { ca: pki.bundle, agent: false, headers: { cookie } }, (answer) => {
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    let text = '';
    answer.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    answer.on('end', () => resolve({ location: answer.headers.location, text }));
  });
  sent.on('error', reject);
  sent.end();
  return promise;
}
