/** Types of the parts of `oidc-provider` in use, which ships none. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface ClientMetadata {
    client_id: string;
    token_endpoint_auth_method: string;
    tls_client_auth_subject_dn: string;
    tls_client_certificate_bound_access_tokens: boolean;
    grant_types: string[];
    response_types: string[];
    redirect_uris: string[];
    scope: string;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    on(event: string, listener: (...values: unknown[]) => void): this;
  }
}
