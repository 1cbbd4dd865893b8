/* Task of each generated client, whatever its functions look like. */

/** An answer: `data` of a success, `error` of a failure, as the generated types name them. */
export interface Outcome<Data> {
  readonly status: number;
  readonly etag: string | null;
  readonly data: Data | undefined;
  readonly error: { readonly code: number; readonly message: string } | undefined;
}

export interface Registration {
  readonly provider: string;
  readonly domain: string;
  readonly service: string;
  readonly attestationData: string;
  readonly csr: string;
}

interface DomainView {
  readonly name: string;
  readonly description?: string | undefined;
}

export interface GeneratedClient {
  token(scope: string, seconds: number): Promise<Outcome<{ access_token: string; expires_in: number }>>;
  isGranted(action: string, resource: string, principal: string): Promise<Outcome<{ granted: boolean }>>;
  isInRole(domain: string, role: string, principal: string): Promise<Outcome<{ granted: boolean }>>;
  joinToken(instanceId: string): Promise<Outcome<{ attestationData: string }>>;
  register(registration: Registration): Promise<Outcome<{ instanceId: string; x509Certificate?: string | undefined }>>;
  /** With the names of curves as in RFC 7518. */
  keys(): Promise<Outcome<{ keys: readonly { kid: string; crv?: string | undefined }[] }>>;
  signedPolicy(domain: string, etag?: string): Promise<Outcome<{ payload: string }>>;
  /** A preview of a dry run is no view of a domain. */
  createDomain(domain: string, admins: string[]): Promise<Outcome<DomainView | object>>;
  domain(domain: string): Promise<Outcome<DomainView>>;
  /** Sets the description of the domain with this entity tag. */
  describe(domain: string, description: string, etag: string): Promise<Outcome<DomainView | object>>;
}

/** Connection of a client: the origin of the server, and a fetch with a client certificate. */
export interface Connection {
  readonly origin: string;
  readonly fetch: typeof fetch;
}

export type OpenClient = (connection: Connection) => GeneratedClient;
